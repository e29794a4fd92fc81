# SPDX-License-Identifier: Apache-2.0
"""What people ran stays known, in bounded files, each account by itself."""

from pathlib import Path

import pytest

from millrace.lifecycle.access import change_log
from millrace.system import paths
from millrace.system.roles import Caller

BOB = Caller(2001, "bob", "administrator")
OTTO = Caller(2002, "otto", "operator")


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    return tmp_path


def test_verb_that_was_killed_has_no_status() -> None:
    number = change_log.begin(BOB, ["share", "create", "models"])
    assert [(entry.words, entry.status) for entry in change_log.entries(10)] == [("share create models", None)]
    change_log.end(BOB, number, 0)
    assert [(entry.words, entry.status) for entry in change_log.entries(10)] == [("share create models", 0)]


def test_many_changes_of_one_account_leave_those_of_others_and_the_disk() -> None:
    change_log.begin(BOB, ["access", "create", "otto"])
    for _ in range(4000):
        change_log.begin(OTTO, ["drive", "locate", "x" * 300])
    size = sum(path.stat().st_size for path in change_log.change_log_dir().glob("otto*"))
    assert change_log.LARGEST < size < 2 * change_log.LARGEST + 2000
    assert [entry.words for entry in change_log.entries(10, "bob")] == ["access create otto"]


def test_damaged_line_is_passed_over() -> None:
    change_log.begin(BOB, ["keep", "now"])
    with (change_log.change_log_dir() / "bob.jsonl").open("a") as file:
        file.write("[" * 3000 + '\n{"id": "1", "wh')
    assert [entry.words for entry in change_log.entries(10)] == ["keep now"]


def test_words_stay_on_one_line_and_names_in_their_directory() -> None:
    change_log.begin(Caller(1, "../../etc/passwd", None), ["a\nb"])
    assert [path.name for path in change_log.change_log_dir().glob("*.jsonl")] == ["other.jsonl"]
    assert "\n" not in change_log.entries(1)[0].words


@pytest.mark.parametrize(
    ("chain", "origin"),
    [
        (["millrace", "sudo", "cockpit-bridge"], "page"),
        (["millrace", "cockpit-bridge"], "page"),
        (["sudo", "bash", "cockpit-bridge"], "command line"),
        (["bash", "sshd"], "command line"),
        ([], "command line"),
    ],
)
def test_page_is_told_from_its_terminal(
    root: Path, monkeypatch: pytest.MonkeyPatch, chain: list[str], origin: str
) -> None:
    monkeypatch.setattr("os.getppid", lambda: 100)
    for number, name in enumerate(chain, 100):
        (root / f"proc/{number}").mkdir(parents=True)
        (root / f"proc/{number}/comm").write_text(f"{name}\n")
        (root / f"proc/{number}/stat").write_text(f"{number} ({name}) S {number + 1} 1 1")
    assert change_log.origin() == origin


def test_log_that_cannot_be_written_stops_nothing(root: Path) -> None:
    change_log.change_log_dir().parent.mkdir(parents=True)
    change_log.change_log_dir().write_text("a file is in the way")
    change_log.begin(BOB, ["keep", "now"])
    assert change_log.entries(10) == []
