# SPDX-License-Identifier: Apache-2.0
"""A commit has a short subject without a full stop, and an empty line before its body."""

import os
import subprocess
from datetime import timedelta
from pathlib import Path

import pytest

from host import commits
from host.layout import REPO
from millrace.system.errors import BadInput, Failed, Refused

HOOKS = REPO / "tools/host/hooks"
LAST = 100
AUTHOR = {f"GIT_{role}_{field}": "a@b.invalid" for role in ("AUTHOR", "COMMITTER") for field in ("NAME", "EMAIL")}
LONG = "share: " + "x" * 66


class Clone:
    """A repository with the hook of this one, that no configuration of the host reaches."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.git("init", "--quiet")
        (path / "tools").symlink_to(REPO / "tools")

    def git(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        nothing = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
        surroundings = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        return subprocess.run(
            ["git", *words],
            cwd=self.path,
            env=surroundings | nothing | AUTHOR | environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def commit(self, message: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return self.git("commit", "--quiet", "--allow-empty", "--message", message, **environment)

    def subjects(self) -> list[str]:
        return self.git("log", "--format=%s").stdout.splitlines()


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    return Clone(tmp_path)


@pytest.mark.parametrize(
    "message",
    [
        "share: reject a network without a prefix length",
        "x" * 72,
        "ü" * 72,
        "share: reject it\n\nThe reason is a sentence.\n",
        "# of an editor\nshare: reject it\n# Please enter the commit message\n",
        f"share: reject it\n{commits.SCISSORS}\ndiff --git a/x b/x\n",
        f"Merge branch '{'x' * 72}'",
        f"fixup! {'x' * 72}",
        "",
    ],
)
def test_message_in_order_is_accepted(message: str) -> None:
    assert commits.complaints(message) == []


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        ("x" * 73, "73 characters; 72 are allowed"),
        (f"# of an editor\n\n{LONG}\n", "73 characters"),
        ("share: reject it.", "full stop"),
        ("share: reject it.  \n", "full stop"),
        ("share: reject it\nThe reason.\n", "second line is not empty"),
    ],
)
def test_message_that_breaks_a_rule_is_named(message: str, fault: str) -> None:
    (found,) = commits.complaints(message)
    assert fault in found


def test_every_fault_is_in_one_sentence_each(tmp_path: Path) -> None:
    file = tmp_path / "message"
    file.write_text(f"{LONG}.\nbody\n")
    with pytest.raises(Refused, match=r"74 characters.*full stop.*second line"):
        commits.main([str(file)])


def test_message_that_cannot_be_read_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be read"):
        commits.main([str(tmp_path / "missing")])
    with pytest.raises(BadInput, match="Usage"):
        commits.main([])


def test_hook_keeps_a_commit_out(clone: Clone) -> None:
    assert clone.commit("first: without the hook, with a full stop.").returncode == 0
    clone.git("config", "core.hooksPath", str(HOOKS))
    refused = clone.commit("share: reject it.")
    assert refused.returncode == 1
    assert refused.stderr.startswith("millrace: The commit message is refused. The subject ends with a full stop")
    assert refused.stderr.count("\n") == 1
    assert clone.commit("share: reject it\n\nThe reason.").returncode == 0
    assert clone.subjects() == ["share: reject it", "first: without the hook, with a full stop."]


def test_long_subject_counts_from_the_day_of_the_rule(clone: Clone) -> None:
    day = commits.SINCE
    clone.commit(f"{LONG} old", GIT_AUTHOR_DATE=(day - timedelta(seconds=1)).isoformat())
    clone.commit(f"{LONG} new", GIT_AUTHOR_DATE=day.isoformat())
    clone.commit("share: reject it", GIT_AUTHOR_DATE=day.isoformat())
    assert [line.split(" ", 1)[1] for line in commits.long_subjects(clone.path, LAST)] == [f"{LONG} new"]
    assert commits.long_subjects(clone.path, 1) == []


def test_directory_without_history_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(Failed, match="git cannot read the history"):
        commits.long_subjects(tmp_path, LAST)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Failed, match="git is not installed"):
        commits.long_subjects(tmp_path, LAST)


def test_last_hundred_commits_have_short_subjects() -> None:
    if not (REPO / ".git").exists():
        pytest.skip("this copy of the tree has no history: there is no .git")
    assert commits.long_subjects(REPO, LAST) == []
