# SPDX-License-Identifier: Apache-2.0
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

import pytest

from millrace.lifecycle.reset import reset
from millrace.lifecycle.reset.reset_job import JOB
from millrace.lifecycle.reset.reset_request import REQUEST, TOOL, VARIABLES
from millrace.system import paths
from millrace.system.run import Result
from tests.fakes.commands import GOOD
from tests.fakes.jobs import JOBS, shown
from tests.unit.lifecycle.keep.conftest import Server, Tdb

BOOT_ID = "0f3c2a7e-5d1b-4c86-9a0e-7b2d4f6a8c1e"


def ask_firmware(root: Path, boot_id: str) -> None:
    """Write the variable as systemd-factory-reset does in a boot."""
    asked = f'{{"osReleaseId":"millrace","bootId":"{boot_id.replace("-", "")}"}}'
    (root / REQUEST).write_bytes(b"\7\0\0\0" + f"{asked}\0".encode("utf-16-le"))


class Resettable(Tdb):
    """A server whose firmware keeps variables, and whose systemd runs the unit of the reset."""

    TAKEN: ClassVar[Iterable[str]] = (
        *Tdb.TAKEN,
        f"{TOOL} request",
        f"{TOOL} status",
        *JOBS,
        "systemctl start srv-pool.mount",
        "systemctl --no-block reboot",
    )

    def __init__(self) -> None:
        super().__init__()
        self.requested, self.rebooted, self.forgetful, self.complete = False, False, False, False
        self.working: dict[str, str] = {}

    def _systemd_factory_reset(self, words: list[str], _: str) -> Result:
        if words == ["status"]:
            # of the boot, whatever is asked for in it
            return Result(0, "complete\n" if self.complete else "unspecified\n", "")
        self.requested = not self.forgetful
        if self.requested:
            ask_firmware(paths.ROOT, BOOT_ID)
        return GOOD

    def _systemctl(self, words: list[str], _: str) -> Result:
        match words:
            case ["show", _, *units]:
                return shown(units, self.working)
            case ["start", "--no-block", JOB.unit]:
                # its end is not that of the start
                self.unit()
            case ["--no-block", "reboot"]:
                self.rebooted = True
        return GOOD

    def unit(self) -> Result:
        """What systemd does with the unit of the reset, now or at a boot."""
        if not paths.reset_file().exists():
            return GOOD
        try:
            reset.carry_out(self)
        except Exception:
            return Result(1, "", "Job for millrace-reset.service failed")
        return GOOD


class Reset(Server):
    """A server with a pool, shares, users and secrets, which is reset."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.run: Resettable = Resettable()
        (root / VARIABLES).mkdir(parents=True)
        self.file("proc/sys/kernel/random/boot_id", f"{BOOT_ID}\n")

    def reset(self, what: str) -> None:
        reset.start(what, "admin", self.run, lambda seconds: None)  # type: ignore[arg-type]


@pytest.fixture
def server(root_user: Path, monkeypatch: pytest.MonkeyPatch) -> Reset:
    monkeypatch.setattr("millrace.lifecycle.update.obstacles.live_arrays", lambda pool, records: [])
    monkeypatch.setattr("millrace.serve.config.audit_log.note", lambda text: None)
    return Reset(root_user)
