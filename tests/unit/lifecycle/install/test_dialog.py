# SPDX-License-Identifier: Apache-2.0
"""At a console nothing is written before the serial number was typed twice."""

from collections.abc import Iterator

from millrace.inventory.model import DriveState
from millrace.lifecycle.install.choice import candidates
from millrace.lifecycle.install.dialog import AGAIN, ASK, NEXT, Dialog
from millrace.lifecycle.install.model import Installed, InstallLine, InstallReport, InstallStep
from millrace.system.errors import Failed
from tests.unit.storage.drive.servers import drive

DRIVES = candidates([drive("B", DriveState.BLANK), drive("P", DriveState.OURS)])
REPORT = InstallReport(version="0.1.0", runs_from="STICK", problem=None, drives=DRIVES)


class Person:
    """Types answers; what was asked and said, and what was written."""

    def __init__(self, *answers: str, fails: bool = False) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []
        self.said: list[str] = []
        self.written: list[str] = []
        self.fails = fails

    def read(self, question: str) -> str:
        self.asked.append(question)
        return self.answers.pop(0)

    def write(self, serial: str) -> Iterator[InstallLine]:
        self.written.append(serial)
        yield InstallStep(doing="copying")
        if self.fails:
            self.fails = False
            raise Failed("it broke")
        yield Installed(serial=serial, version="0.1.0")

    def leads(self) -> "Person":
        Dialog(lambda: REPORT, self.write, self.said.append, self.read).run()
        assert self.answers == []
        return self


def test_drive_is_written_after_its_serial_number_was_typed_twice() -> None:
    person = Person("B", "B", "").leads()
    assert (person.asked, person.written) == ([ASK, AGAIN, NEXT], ["B"])
    assert "  copying …" in person.said
    assert any("Everything on it is lost" in line for line in person.said)


def test_nothing_typed_lists_the_drives_again() -> None:
    assert Person("", "B", "", "B", "B", "").leads().written == ["B"]


def test_refusals_and_errors_are_shown_and_the_list_again() -> None:
    person = Person("P", "nothing", "B", "b", "B", "B", "B", "B", "", fails=True).leads()
    assert person.written == ["B", "B"]
    for sentence in ("it carries a Millrace pool.", "no drive with the serial number", "repeated as", "it broke."):
        assert any(sentence in line for line in person.said), sentence
