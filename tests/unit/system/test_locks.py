# SPDX-License-Identifier: Apache-2.0
"""One process holds a lock; another waits for it or is refused."""

import errno
import os
import threading
from pathlib import Path

import pytest

from millrace.system.errors import Refused
from millrace.system.locks import doing, held


def test_who_does_not_wait_is_refused_in_the_given_words(tmp_path: Path) -> None:
    path = tmp_path / "new/directory/lock"
    with held(path), pytest.raises(Refused, match=r"^is already running$"), held(path, "is already running"):
        pass
    with held(path, "is already running"):
        assert path.stat().st_mode & 0o777 == 0o600


def test_who_waits_gets_it_afterwards(tmp_path: Path) -> None:
    order: list[str] = []

    def second() -> None:
        with held(tmp_path / "lock"):
            order.append("second")

    with held(tmp_path / "lock"):
        waiting = threading.Thread(target=second)
        waiting.start()
        waiting.join(0.2)
        order.append("first")
    waiting.join(10)
    assert order == ["first", "second"]


def test_an_error_inside_lets_go_of_the_lock(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="inside"), held(tmp_path / "lock"):
        raise ValueError("inside")
    with held(tmp_path / "lock", "still held"):
        pass


def test_user_without_root_gets_the_advice_of_sudo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", denied)
    with pytest.raises(Refused, match="run this command with sudo"), held(tmp_path / "lock"):
        pass


def test_note_is_there_for_others_while_the_lock_is_held(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    assert doing(path) == ""
    with held(path, note="a much longer note"):
        assert doing(path) == "a much longer note"
    assert doing(path) == ""
    refused = pytest.raises(Refused, match=r"^short runs$")
    with held(path, note="short"), refused, held(path, lambda: f"{doing(path)} runs", "another"):
        pass


def test_note_of_a_holder_that_was_killed_is_not_that_of_the_next(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.write_text("killed")
    with held(path):
        assert doing(path) == ""


def test_boot_drive_that_is_read_only_has_the_lock_of_an_earlier_boot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lock").write_text("")
    opened = os.open

    def read_only(path: Path, flags: int, mode: int = 0o777) -> int:
        if flags & os.O_RDWR:
            raise OSError(errno.EROFS, "Read-only file system")
        return opened(path, flags, mode)

    monkeypatch.setattr(os, "open", read_only)
    with (
        held(tmp_path / "lock", note="it works"),
        pytest.raises(Refused, match=r"^busy$"),
        held(tmp_path / "lock", "busy"),
    ):
        pass
    with pytest.raises(OSError, match="Read-only"), held(tmp_path / "other"):
        pass
