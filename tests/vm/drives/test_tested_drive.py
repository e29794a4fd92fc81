# SPDX-License-Identifier: Apache-2.0
"""A blank drive beside a pool is tested and blank again; cancelled or killed it is, or says that it is not."""

import json
from pathlib import Path
from typing import Any

import pytest

from millrace.inventory.surface import TEST_MARK
from millrace.system.text import MIB
from tests.vm.box import Box
from tests.vm.drives.conftest import SMALL

# by hand: a full test of emulated drives takes minutes
pytestmark = pytest.mark.soak

# An earlier file may have replaced any member, so which drive it is turns out in the story.
MEMBER, DRIVE = "MEMBER", SMALL.serial
UNIT = "millrace-drive-test.service"
PROGRESS = "/run/millrace/drive-test/progress.json"


@pytest.fixture(scope="module", autouse=True)
def small(box: Box) -> None:
    """The small drive is in: an earlier file may have put another drive into its bay."""
    drives = [drive.serial for drive in box.machine.server.drives]
    if DRIVE not in drives:
        members = {*box.recorded("data"), *box.recorded("log"), *box.recorded("log", "spares")}
        free = next(serial for serial in drives if serial not in members)
        box.machine.pull(free)
        box.machine.replace(free, SMALL)
        box.wait_examined()


def row(box: Box, serial: str = DRIVE) -> dict[str, Any]:
    (found,) = [one for one in box.shown("drive list --json")["drives"] if one["serial"] == serial]
    return dict(found)


def image(box: Box) -> Path:
    return box.machine.files.directory / f"{DRIVE}.raw"


def is_zero(box: Box) -> bool:
    box.say("sync")
    with image(box).open("rb") as file:
        return not any(any(chunk) for chunk in iter(lambda: file.read(MIB), b""))


def prove(box: Box, *words: str) -> tuple[int | None, list[dict[str, Any]]]:
    """The status of a test, and its JSON lines."""
    done = box.millrace(["drive", "test", *words, "--yes", "--json"], seconds=900, check=False)
    print(done.out[-2000:], done.err, box.say(f"journalctl -b -u {UNIT} -o cat | tail -n 20"))
    return done.status, [json.loads(line) for line in done.out.splitlines()]


def test_blank_drive_passes_and_is_blank(box: Box) -> None:
    drive = row(box)
    assert (drive["verdict"], drive["test"]) == ("too small", None)
    assert "test" in drive["actions"]
    status, lines = prove(box, "--quick", f"/dev/{drive['name']}")
    assert status == 0
    ended = lines[-1]
    assert (ended["state"], ended["scope"], ended["blank"], ended["reason"]) == ("passed", "quick", True, None)
    assert ended["written_bytes"] and ended["write_bytes_per_second"] and ended["longest_read_ms"] is not None
    assert ended["media_errors"] == 0 and ended["trim"] in ("reads zeroes", "accepted", "none")
    assert is_zero(box)
    after = row(box)
    assert (after["verdict"], after["test"]["state"]) == ("too small", "passed")
    shown = box.say(f"millrace drive show {DRIVE}")
    assert "passed on " in shown and "(quick)" in shown and "/s, longest request" in shown


def test_full_test_passes(box: Box) -> None:
    status, lines = prove(box, DRIVE)
    assert status == 0
    assert (lines[-1]["state"], lines[-1]["scope"]) == ("passed", "full")
    assert lines[-1]["written_bytes"] > SMALL.size - MIB
    assert {"writing", "reading back"} <= {one.get("what") for one in lines[:-1]}
    assert is_zero(box)


@pytest.mark.parametrize(
    ("serial", "words"),
    [
        (MEMBER, "belongs to this pool (array "),
        ("MILLRACE-BOOT", "never tested"),
        ("NOSUCH", "no drive has the serial number, bay or device name 'NOSUCH'"),
    ],
)
def test_no_other_drive_is_tested(box: Box, serial: str, words: str) -> None:
    chosen = box.recorded("data")[0] if serial == MEMBER else serial
    done = box.millrace(["drive", "test", chosen, "--yes"], seconds=300, check=False)
    print(done.out, done.err)
    assert done.status == 1 and words in done.err and len(done.err.splitlines()) == 1
    assert "--yes" in box.millrace(["drive", "test", DRIVE], seconds=300, check=False).err


def begin(box: Box) -> None:
    """A full test that goes on after its terminal has ended."""
    to_files = "-p StandardOutput=truncate:/run/test.out -p StandardError=truncate:/run/test.err"
    box.say(f"systemd-run --collect --unit=a-test {to_files} millrace drive test {DRIVE} --yes --json")
    try:
        box.machine.wait_command(f"grep -q '\"writing\"' {PROGRESS}", "the test to write", 180)
    finally:
        print(box.say(f"cat /run/test.out /run/test.err {PROGRESS}; journalctl -b -u {UNIT} -o cat | tail; true"))


def wait_end(box: Box) -> None:
    box.machine.wait_command("systemctl show -P ActiveState a-test | grep -qxE 'failed|inactive'", "its end", 300)
    print(box.say(f"cat /run/test.err; journalctl -b -u {UNIT} -o cat | tail"))


def test_cancelled_test_leaves_a_blank_drive_or_one_that_says_so(box: Box) -> None:
    begin(box)
    during = row(box)
    assert during["verdict"] == "unknown" and during["what"].startswith("is being tested")
    assert DRIVE in box.say("millrace drive test --cancel")
    wait_end(box)
    ended = row(box)
    assert ended["test"]["state"] == "cancelled"
    if ended["test"]["blank"]:
        assert ended["verdict"] == "too small" and is_zero(box)
    else:
        assert (ended["verdict"], ended["what"]) == ("unknown", "test was cancelled; test it again or erase it")
        status, _ = prove(box, "--quick", DRIVE)
        assert status == 1
        box.say(f"millrace drive erase {DRIVE} --serial-again={DRIVE}", seconds=600)
    assert row(box)["verdict"] == "too small"


def test_killed_test_is_not_blank_and_is_run_again(box: Box) -> None:
    begin(box)
    box.say(f"systemctl kill --kill-whom=main --signal=KILL {UNIT}")
    wait_end(box)
    killed = row(box)
    assert (killed["verdict"], killed["what"]) == ("unknown", "test was interrupted; test it again or erase it")
    box.say("sync")
    with image(box).open("rb") as file:
        assert file.read(len(TEST_MARK)) == TEST_MARK
    # the drive itself says so, whatever becomes of the record
    box.say("mv /var/lib/millrace/drive-tests.json /run/")
    assert row(box)["what"] == "test was interrupted; test it again or erase it"
    box.say("mv /run/drive-tests.json /var/lib/millrace/")
    status, lines = prove(box, DRIVE)
    assert status == 0 and lines[-1]["state"] == "passed"
    assert is_zero(box) and row(box)["verdict"] == "too small"
