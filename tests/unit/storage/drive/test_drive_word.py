# SPDX-License-Identifier: Apache-2.0
"""A drive is named by its serial number, its bay, its kernel name or a device in /dev, on each command line."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from millrace.cli.program import millrace, run
from millrace.storage.drive import drive_rows
from millrace.storage.drive.drive_word import serial as named
from millrace.storage.drive.facts import facts
from millrace.system.errors import Refused
from tests.fakes.files.box import Box, serial
from tests.fakes.files.running import server

BY_ID = "dev/disk/by-id/nvme-ACME_7T68_S6XYZ"


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    with server(tmp_path, user=1001) as made:
        made.provision()
        made.look()
        made.pull("data", 3)
        yield made


def shown(capsys: pytest.CaptureFixture[str], word: str) -> str:
    assert run(["drive", "show", word, "--json"]) == 0
    return str(json.loads(capsys.readouterr().out)["drive"]["serial"])


@pytest.mark.parametrize("word", [serial(2), "3", "nvme2n1", "/dev/nvme2n1", f"/{BY_ID}"])
def test_each_name_of_a_drive_shows_it(box: Box, word: str, capsys: pytest.CaptureFixture[str]) -> None:
    link = box.root / BY_ID
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to("../../nvme2n1")
    assert shown(capsys, word) == serial(2)


def test_missing_member_is_named_by_the_bay_that_it_had(box: Box, capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, "4") == serial(3)


def test_bay_of_a_missing_member_and_its_successor_is_refused_with_both(box: Box) -> None:
    rows = drive_rows.rows(facts())
    new = next(row for row in rows if row.serial == serial(2)).model_copy(update={"serial": "NEW", "bay": "4"})
    with pytest.raises(Refused, match=rf"2 drives answer to '4': .*{serial(3)} \(missing\).*; name one by its serial"):
        named([*rows, new], "4")


def test_word_that_names_no_drive_is_refused_by_the_verb(box: Box, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["drive", "show", "/dev/nvme77n1"]) == 1
    said = "no drive has the serial number, bay or device name '/dev/nvme77n1'; for all of them: millrace drive list"
    assert capsys.readouterr().err == f"millrace: {said}\n"


def test_serial_numbers_are_completed(box: Box) -> None:
    items = ShellComplete(millrace, {}, "millrace", "X").get_completions(["drive", "locate"], serial(2)[:-1])
    assert serial(2) in [item.value for item in items] and serial(3) not in [item.value for item in items]
