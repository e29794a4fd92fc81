# SPDX-License-Identifier: Apache-2.0
"""An interrupted change leaves the old or the new state; a damaged file is replaced by the last good one."""

import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from millrace.serve.config import files, history, store
from millrace.serve.config.model import Config, DesiredShare, first_config
from millrace.system import paths
from millrace.system.errors import BadInput, Failed


@pytest.fixture(autouse=True)
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    return tmp_path


def with_share(name: str) -> Callable[[Config], Config]:
    def mutate(config: Config) -> Config:
        one = DesiredShare(name=name, type="training", project=config.next_project)
        return config.model_copy(update={"shares": [*config.shares, one]})

    return mutate


def names(config: Config) -> list[str]:
    return [one.name for one in config.shares]


def create(name: str) -> Config:
    return store.change("ann", f"share create {name}", with_share(name))


def test_a_new_server_has_the_first_state_and_writes_nothing_to_read_it(server: Path) -> None:
    assert store.load() == first_config()
    assert not list(server.rglob("*.json"))


def test_a_change_is_kept_with_who_when_and_what() -> None:
    create("train")
    assert names(store.load()) == ["data", "train"]
    [change] = history.changes(store.load().serial)
    assert (change.number, change.who, change.what) == (1, "ann", "share create train")
    assert change.when.endswith("+00:00")
    assert change.config == store.load()


def test_a_bad_change_changes_nothing(server: Path) -> None:
    create("train")
    before = {path: path.read_bytes() for path in server.rglob("*.json")}
    with pytest.raises(BadInput, match="share train already exists"):
        create("train")
    assert {path: path.read_bytes() for path in server.rglob("*.json")} == before


def test_an_effect_that_fails_keeps_the_old_state() -> None:
    def effect(old: Config, new: Config) -> None:
        assert (names(old), names(new)) == (["data"], ["data", "train"])
        raise Failed("not served")

    with pytest.raises(Failed, match="not served"):
        store.change("ann", "share create train", with_share("train"), effect)
    assert names(store.load()) == ["data"]


def test_numbers_are_never_given_out_twice() -> None:
    first = create("train").shares[1].project
    store.change("ann", "share remove train", lambda config: config.model_copy(update={"shares": config.shares[:1]}))
    assert create("train").shares[1].project > first


def test_fifty_changes_are_kept() -> None:
    for number in range(53):
        create(f"s{number}")
    assert files.history_numbers() == list(range(4, 54))


def test_a_kill_at_any_moment_leaves_the_old_or_the_new_state(server: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call that reaches the disk is the last one once; a killed process cleans nothing up."""
    create("train")

    class Killed(BaseException):
        pass

    calls = {name: getattr(os, name) for name in ("fsync", "replace", "fchmod", "unlink")}
    left = 0

    def wire(name: str) -> Callable[..., object]:
        def call(*arguments: object, **options: object) -> object:
            nonlocal left
            left -= 1
            if left < 0:
                raise Killed
            return calls[name](*arguments, **options)

        return call

    seen = set()
    for moment in range(100):
        serial = store.load().serial
        left = moment
        with monkeypatch.context() as patch:
            for name in calls:
                patch.setattr(os, name, wire(name))
            try:
                create(f"s{moment}")
                survived = True
            except Killed:
                survived = False
        loaded = store.read()
        assert loaded.problem is None
        assert loaded.config.serial in {serial, serial + 1}
        assert (f"s{moment}" in names(loaded.config)) is (loaded.config.serial == serial + 1)
        seen.add(loaded.config.serial - serial)
        if survived:
            break
    else:
        pytest.fail("a change never came to its end")
    assert seen == {0, 1}
    # what the kills left behind is in nobody's way
    create("after")
    assert "after" in names(store.load())


def test_a_process_that_is_killed_at_any_time_leaves_a_whole_state(server: Path) -> None:
    """kill -9, again and again, of a process that does nothing but change the state."""
    create("train")
    moments = random.Random(4)
    first = last = store.load().serial
    for _ in range(60):
        child = os.fork()
        if child == 0:
            while True:
                store.change("ann", "again", lambda config: config)
        time.sleep(moments.uniform(0, 0.05))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        loaded = store.read()
        assert loaded.problem is None and loaded.config.serial >= last
        last = loaded.config.serial
        assert history.read(last).config == loaded.config
    assert last > first + 10, "the process was always killed before it could change anything"


@pytest.mark.parametrize("damage", [b"", b"{", b"\xff\xfe", b'{"schema_version": 1, "shares": [{}]}', b"[]", None])
def test_a_damaged_file_is_stood_in_for_by_the_last_good_change(
    damage: bytes | None, capsys: pytest.CaptureFixture[str]
) -> None:
    create("train")
    if damage is None:
        files.config_file().unlink()
    else:
        files.config_file().write_bytes(damage)
    assert names(store.load()) == ["data", "train"]
    said = capsys.readouterr().err
    assert "config.json" in said and "after change 1 (share create train" in said
    assert said.count("\n") == 1


def test_the_next_change_heals_a_damaged_file_and_keeps_it_for_a_look() -> None:
    create("train")
    files.config_file().write_text("{")
    assert names(create("more")) == ["data", "train", "more"]
    assert store.read().problem is None
    assert files.unreadable_file().read_text() == "{"


def test_a_damaged_history_is_passed_over() -> None:
    create("one")
    create("two")
    files.config_file().write_text("{")
    files.history_file(2).write_text("torn")
    assert names(store.load()) == ["data", "one"]


def test_nothing_is_guessed_where_nothing_can_stand_in() -> None:
    create("train")
    files.config_file().write_text("{")
    files.history_file(1).write_text("{")
    with pytest.raises(Failed, match="import an exported configuration"):
        store.load()
    # an import goes on from there
    store.change("ann", "config import", lambda config: first_config(), overwrite=True)
    assert names(store.load()) == ["data"]


def test_a_file_of_a_newer_release_is_not_half_understood(capsys: pytest.CaptureFixture[str]) -> None:
    create("train")
    text = files.config_file().read_text().replace('"schema_version": 1', '"schema_version": 2')
    files.config_file().write_text(text)
    assert names(store.load()) == ["data", "train"]
    assert "was written by a later release (schema 2" in capsys.readouterr().err
