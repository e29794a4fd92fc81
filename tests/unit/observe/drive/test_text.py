# SPDX-License-Identifier: Apache-2.0
"""A line for each drive under titles; what is not known is said to be unknown."""

import pytest

from millrace.inventory.model import DriveState, OpalState
from millrace.observe.drive.rows import row, rows
from millrace.observe.drive.text import details, table
from millrace.storage.drive.drive_text import verdict
from millrace.storage.drive.smart import DriveSmart
from tests.unit.storage.drive.servers import NEEDED, drive, examined, server

SAID = DriveSmart(
    name="a", serial="D0", transport="nvme", boot=False, known=True, temperature=41, wear=12, power_on_hours=9000
)


def test_columns_stand_under_their_titles() -> None:
    head, *lines = table(rows(server(smart=[SAID])))
    assert head.split() == ["Bay", "Serial", "Model", "Size", "Role", "Verdict", "°C", "Worn"]
    (one,) = [line for line in lines if "D0" in line]
    assert one.split() == ["-", "D0", "ACME", "107", "GB", "data", "in-sync", "41", "12", "%"]
    assert one.index("in-sync") == head.index("Verdict")
    assert one.index("41") + 2 == head.index("°C") + 2
    assert len(lines) == 6


def test_a_server_without_drives_says_so() -> None:
    assert table([]) == ["This server has no drives."]


def test_a_verdict_names_bytes_or_what_was_found() -> None:
    small = server(drive("X", size=NEEDED - 7), without=["D1"], at_boot=[examined("X", DriveState.BLANK)])
    assert verdict(row(small, "X")) == "too small (by 7 bytes)"
    assert verdict(row(small, "BOOT")) == "boot (carries /)"
    assert verdict(row(small, "D1")) == "missing"


def test_what_is_not_known_of_a_drive_is_unknown() -> None:
    said = dict(line.split(": ", 1) for line in details(row(server(smart=[SAID]), "D0")))
    found = {name: text.strip() for name, text in said.items()}
    assert (found["Role"], found["Temperature"], found["Wear"]) == (
        "data, array data",
        "41 °C",
        "12 % of the rated endurance",
    )
    assert (found["Power-on hours"], found["Bay"], found["Worn out on"]) == ("9000", "unknown", "unknown")
    assert found["Verdict"] == "in-sync"


@pytest.mark.parametrize(
    ("opal", "words"),
    [(None, "no, or not reported"), ("off", "can (Opal), not in use"), ("locked", "yes (Opal), locked")],
)
def test_drive_says_whether_it_locks_itself(opal: OpalState | None, words: str) -> None:
    known = examined("X", DriveState.UNKNOWN).model_copy(update={"opal": opal})
    shown = details(row(server(drive("X"), at_boot=[known]), "X"))
    assert f"Locks itself:    {words}" in shown


def test_actions_that_are_possible_now_are_shown() -> None:
    spare = row(server(drive("S"), states={"S": "spare"}, spares=["S"]), "S")
    assert details(spare)[-1] == "Possible now:    remove, locate"
    gone = row(server(without=["D1"]), "D1")
    assert details(gone)[-1] == "Possible now:    nothing"
