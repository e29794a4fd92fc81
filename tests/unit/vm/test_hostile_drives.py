# SPDX-License-Identifier: Apache-2.0
"""The program of a hostile drive set makes what it says: the story of a booted server is about the server then."""

import time
from pathlib import Path

import pytest

from millrace.lifecycle.keep import generation_store, trust
from millrace.system.errors import BadInput
from tests.unit.lifecycle.adopt.states import kept, packed
from tests.vm.shares import hostile_drives


@pytest.fixture
def where(tmp_path: Path) -> Path:
    generation_store.write(tmp_path, 3, packed(kept()))
    return tmp_path


def test_forged_state_is_the_newest_and_gives_power(where: Path) -> None:
    assert hostile_drives.power(where) == [hostile_drives.FIRST]
    newest = generation_store.newest(where)
    assert newest is not None and newest.number == hostile_drives.FIRST
    assert "\x1b" in newest.generation.manifest.host
    powers = {power.kind: power.details for power in trust.trusted(newest.generation)}
    assert {"ssh-keys", "ssh", "update-keys", "updates", "alerts", "journal"} <= set(powers)
    assert any("mallory" in line for line in powers["ssh-keys"])
    assert not [line for lines in powers.values() for line in lines if not line.isprintable()]


def test_special_files_are_no_states_and_are_told_in_seconds(where: Path) -> None:
    numbers = hostile_drives.special(where)
    began = time.monotonic()
    for number in numbers:
        with pytest.raises(BadInput):
            generation_store.read(generation_store.file(where, number))
    assert time.monotonic() - began < 30
    newest = generation_store.newest(where)
    assert newest is not None and (newest.number, len(newest.damaged)) == (3, len(numbers))


def test_what_was_made_is_removed_and_nothing_else(where: Path) -> None:
    made = [*hostile_drives.special(where), *hostile_drives.power(where)]
    assert sorted(hostile_drives.remove(where)) == sorted(made)
    assert generation_store.numbers(where) == [3]
