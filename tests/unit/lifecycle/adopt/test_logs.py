# SPDX-License-Identifier: Apache-2.0
"""What a boot has recorded before it adopted a pool is read under the machine ID of the pool's server."""

import os
from pathlib import Path

import pytest

from millrace.lifecycle.adopt import logs
from millrace.system.run import Result
from tests.fakes.commands import Commands

OLD, NOW = "a" * 32, "b" * 32
ARCHIVED = f"system@{'c' * 32}-0000000000000001-0006000000000000.journal"


class Journald(Commands):
    """journald, which opens a file below the machine ID of now when it starts."""

    TAKEN = ("systemctl try-restart systemd-journald.service",)

    def __init__(self, top: Path) -> None:
        super().__init__()
        self.top = top
        self.status = 0

    def _systemctl(self, _words: list[str], _stdin: str) -> Result:
        if self.status == 0:
            (self.top / NOW).mkdir(exist_ok=True)
            (self.top / NOW / "system.journal").write_text("since")
        return Result(self.status, "", "")


@pytest.fixture
def top(root: Path) -> Path:
    (root / "etc").mkdir(exist_ok=True)
    (root / "etc/machine-id").write_text(f"{NOW}\n")
    made = root / "var/log/journal"
    (made / OLD).mkdir(parents=True)
    for name, text in (("system.journal", "before"), ("user-1000.journal", "admin"), (ARCHIVED, "long before")):
        (made / OLD / name).write_text(text)
        os.utime(made / OLD / name, (1, 1))
    return made


def test_records_of_before_are_beside_those_of_now(top: Path) -> None:
    assert logs.take_over(Journald(top)) == []
    assert {path.name: path.read_text() for path in (top / NOW).iterdir()} == {
        "system.journal": "since",
        f"system@{OLD}-0000000000000001-00000000000f4240.journal": "before",
        f"user-1000@{OLD}-0000000000000001-00000000000f4240.journal": "admin",
        ARCHIVED: "long before",
    }
    assert [path.name for path in top.iterdir()] == [NOW]


def test_it_can_be_repeated_and_leaves_journald_alone_then(top: Path) -> None:
    journald = Journald(top)
    assert logs.take_over(journald) == []
    assert logs.take_over(journald) == []
    assert len(journald.calls) == 1


def test_journald_that_does_not_restart_keeps_its_files(top: Path) -> None:
    journald = Journald(top)
    journald.status = 1
    (said,) = logs.take_over(journald)
    assert said == "the system journal is not shown until the next boot: systemctl restart systemd-journald.service"
    assert len(list((top / OLD).iterdir())) == 3


def test_files_that_cannot_be_moved_are_named(top: Path) -> None:
    (top / NOW).write_text("no directory")
    journald = Journald(top)
    journald._systemctl = lambda *_: Result(0, "", "")  # type: ignore[method-assign]
    (said,) = logs.take_over(journald)
    assert said == f"the system journal of before stays in {top / OLD}: File exists"


@pytest.mark.parametrize("text", ["", "uninitialized\n"])
def test_without_a_machine_id_nothing_is_done(root: Path, top: Path, text: str) -> None:
    (root / "etc/machine-id").write_text(text)
    journald = Journald(top)
    assert logs.take_over(journald) == []
    assert journald.calls == []
