# SPDX-License-Identifier: Apache-2.0
"""After a power cut before or after any write an adoption goes on or is over; it never restores a state again."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from millrace.lifecycle.adopt import adopt as adopting
from millrace.lifecycle.adopt import adopt_paths, adoption_journal, search, verbs
from millrace.lifecycle.adopt.model import Adoption, SearchResult
from millrace.lifecycle.adopt.search import Seen
from millrace.lifecycle.adopt.search_result import refuse_if_pool
from millrace.lifecycle.keep.generation_store import Newest
from millrace.serve.config import files, store
from millrace.storage.record.pool_file import load_pool
from millrace.system import paths
from millrace.system.documents import write_model
from millrace.system.errors import Refused
from tests.fakes import mounts
from tests.fakes.drives.hardware import PowerCut
from tests.fakes.samples import found_pool, pool
from tests.unit.lifecycle.adopt import states
from tests.unit.lifecycle.adopt.conftest import Drives
from tests.unit.lifecycle.adopt.power import Accounts, BootDrive
from tests.unit.storage.provision.test_apply_power_cuts import reset


def fresh(root: Path) -> None:
    """A new boot drive."""
    reset(root)
    for name in ("run/millrace", "var/lib/millrace", "proc/sys/kernel", "etc"):
        (root / name).mkdir(parents=True)
    (root / "proc/sys/kernel/hostname").write_text("millrace-fresh")


def wire(patch: pytest.MonkeyPatch, drive: BootDrive) -> None:
    """The pool is on drives that can be read; the boot drive is written."""
    drives, uuid = Drives(), pool().filesystem_uuid
    drives.array("data", pool().arrays[0].uuid, "raid5", ["a1", "b1", "c1"])
    newest = Newest(3, states.generation(states.kept()), {})
    drive.wire(patch)
    patch.setattr(drives, "now", lambda: "2026-11-24T10:00:00+00:00", raising=False)
    patch.setattr("millrace.storage.array.machine.Linux", lambda: drives)
    patch.setattr(search, "see", lambda system, arrays: Seen(list(arrays), uuid, newest))
    patch.setattr(search, "find", found)
    patch.setattr(verbs, "attempt", Accounts(drive))
    patch.setattr(adopting, "serve", lambda run: None)


def found(*_: object) -> SearchResult:
    refuse_if_pool()
    return SearchResult(pool=found_pool())


def by_hand() -> Result:
    return CliRunner().invoke(verbs.adopt, ["--yes"], catch_exceptions=False)


def boot(drive: BootDrive) -> None:
    """The next boot, with millrace-adopt.service; its conditions are in tests/unit/boot."""
    drive.boot()
    if not paths.pool_file().exists() or paths.adoption_file().exists():
        assert CliRunner().invoke(verbs.adopting, [], catch_exceptions=False).exit_code == 0


@pytest.mark.parametrize("forgets", [True, False])
def test_one_cut_at_every_moment(root: Path, monkeypatch: pytest.MonkeyPatch, forgets: bool) -> None:
    moment, over = 0, 0
    while True:
        moment += 1
        fresh(root)
        drive = BootDrive(root, forgets)
        with monkeypatch.context() as patch:
            wire(patch, drive)
            drive.cut_at = moment
            try:
                by_hand()
            except PowerCut:
                boot(drive)
            else:
                break
            if not paths.pool_file().exists():
                assert not paths.adoption_file().exists(), f"cut at moment {moment}"
                by_hand()
            else:
                over += 1
            where = f"cut at moment {moment}"
            assert load_pool() == pool(), where
            assert not paths.adoption_file().exists() and not adopt_paths.state_file().exists(), where
            assert store.read().config.serial == 7, where
            assert (root / "var/lib/samba/private/secrets.tdb").read_text() == "database of SID", where
            assert (root / "var/lib/millrace/nfs-handles.key").read_bytes() == b"key", where
    assert moment > 40 and over > 20


def test_journal_that_survived_pool_json_never_restores_the_state_again(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh(root)
    drive = BootDrive(root, forgets=False)
    wire(monkeypatch, drive)
    assert by_hand().exit_code == 0
    adoption = Adoption(pool=pool().filesystem_uuid, generation=3, by="anna", at="2026-11-24", secrets=True, ports={})
    adoption_journal.begin(adoption, states.packed(states.kept()))
    write_model(files.config_file(), store.read().config.model_copy(update={"serial": 8}))
    mounts.unmount_all(root)
    with pytest.raises(Refused, match="has a pool already"):
        by_hand()
    assert adoption_journal.under_way() is None
    boot(drive)
    assert store.read().config.serial == 8
    assert not paths.adoption_file().exists() and not adopt_paths.state_file().exists()
