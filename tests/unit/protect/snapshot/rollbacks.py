# SPDX-License-Identifier: Apache-2.0
"""Rollbacks of the share data, and where they are cut."""

from collections.abc import Callable
from pathlib import Path

import pytest

from millrace.protect.snapshot import rollback_run, rollback_try, snapshot_rollback, snapshot_run
from millrace.protect.snapshot.snapshot_job import ORDER
from millrace.protect.snapshot.snapshot_model import SnapshotManifest, SnapshotOrder
from millrace.serve.clone.clone_again import ChangeClock
from tests.unit.protect.snapshot.conftest import Nas

NAME = "20261129T120000Z-manual"
KEPT = "20261129T130000Z-before-rollback"
AT = f"data@{NAME}"
BEFORE = {"set/one": "changed", "new": "new"}
AFTER = {"set/one": "first", "set/deep/two": "second"}


class Killed(BaseException):
    """The process ends here."""


def ordered(nas: Nas) -> SnapshotOrder:
    order = snapshot_rollback.prepare(snapshot_rollback.forecast(AT, nas.server), nas.server)
    order = order.model_copy(update={"name": KEPT})
    ORDER.write(order)
    return order


def executed(nas: Nas) -> SnapshotManifest:
    return snapshot_run.execute(nas.server, nas.links(), ChangeClock(), rollback_run.carry_out)


def boot_again(nas: Nas) -> None:
    """A boot has an id of its own, and begins with an empty /run."""
    rollback_try.TRY.remove()
    boot = nas.appliance.root / "proc/sys/kernel/random/boot_id"
    boot.parent.mkdir(parents=True, exist_ok=True)
    boot.write_text("another\n")


def exchanged_alone(nas: Nas, patch: pytest.MonkeyPatch) -> SnapshotOrder:
    """A power cut ends the rollback just after the exchange."""
    order = ordered(nas)
    with patch.context() as cut:
        step(rollback_run, "exchange", True)(cut)
        with pytest.raises(Killed):
            executed(nas)
    snapshot_run.end(lambda: nas.server)
    return order


def contents(top: Path) -> dict[str, str]:
    return {str(path.relative_to(top)): path.read_text() for path in top.rglob("*") if path.is_file()}


def kept(nas: Nas) -> dict[str, str]:
    return contents(nas.snapshots.place("data", KEPT) / "tree")


def step(target: object, name: str, after: bool) -> Callable[[pytest.MonkeyPatch], None]:
    """Cut the rollback where a function is called, or when it has returned."""

    def cut(patch: pytest.MonkeyPatch) -> None:
        plain = getattr(target, name)

        def killed(*args: object, **named: object) -> object:
            if after:
                plain(*args, **named)
            raise Killed

        patch.setattr(target, name, killed)

    return cut
