# SPDX-License-Identifier: Apache-2.0
"""The policy is changed key by key: validated as a whole, with its comments, and applied where that is possible."""

import io
import json
import tomllib
from pathlib import Path
from typing import Any

import click
import pytest

from host.layout import REPO
from millrace.cli.program import run
from millrace.plan.policy import edit, keys, policy_in_force
from millrace.plan.policy.keys import described, fields, taken, when
from millrace.plan.policy.model import Policy
from millrace.plan.policy.policy_file import load_policy
from millrace.system import paths
from millrace.system.errors import BadInput
from millrace.system.run import Result
from millrace.system.units import SHARES, TUNE

EXAMPLE = (REPO / "docs/examples/policy.toml").read_text()
TEXT = '# ours\n[layout]\n# two of them\nspares = 2 # hot\n\n[nfs]\nnetworks = [\n  "10.1.0.0/24",\n]\n'


@pytest.fixture
def systemctl(root_user: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The calls of systemctl, which succeeds."""
    calls: list[list[str]] = []

    def attempt(words: list[str], **_: Any) -> Result:
        calls.append(words)
        return Result(0, "", "")

    monkeypatch.setattr("millrace.system.run.attempt", attempt)
    return calls


def wrote(text: str) -> None:
    paths.policy_file().parent.mkdir(parents=True, exist_ok=True)
    paths.policy_file().write_text(text)


def test_each_key_has_a_meaning_a_range_and_the_time_of_its_effect() -> None:
    bare = [one.key for one in described(Policy()) if not one.meaning or one.meaning.endswith(".")]
    assert bare == []
    unlimited = {f"{section}.{name}" for section, name, field in fields() if not taken(field)}
    assert unlimited == {"external.log", "journal.forward", "journal.ca", "scrub.window"}
    pool = {section for section, _, field in fields() if when(field) == "new pool"}
    assert pool == {"layout", "external", "log", "xfs"}


def test_range_in_words_is_that_of_the_model() -> None:
    words = {one.key: one.range for one in described(Policy())}
    assert words["layout.chunk_kib"] == "4 to 4096" and words["log.size_mib"] == "64 to 2038"
    assert words["ports.rx_usecs"] == "0 to 1000 or adaptive" and words["nfsd.localio"] == "true or false"
    assert words["log.mode"] == "pair, partition or internal" and words["nfs.networks"] == "a list"


@pytest.mark.parametrize("key", [one.key for one in described(Policy())])
def test_each_key_of_the_example_is_removed_and_set_again_in_the_text(key: str) -> None:
    section, _, name = key.partition(".")
    before = tomllib.loads(EXAMPLE)
    without = edit.with_keys(EXAMPLE, {key: None})
    assert name not in tomllib.loads(without).get(section, {})
    again = edit.with_keys(without, {key: before[section][name]})
    assert tomllib.loads(again) == before
    assert again.count("\n#") == EXAMPLE.count("\n#")


def test_comments_and_other_keys_stay() -> None:
    made = edit.with_keys(TEXT, {"layout.spares": 3, "nfs.networks": ["10.2.0.0/24"], "md.discard": "never"})
    assert made == (
        '# ours\n[layout]\n# two of them\nspares = 3\n\n[nfs]\nnetworks = ["10.2.0.0/24"]\n\n[md]\ndiscard = "never"\n'
    )


@pytest.mark.parametrize("text", ["layout.spares = 2\n", "layout = { spares = 2 }\n"])
def test_key_that_is_written_in_another_way_is_left_to_the_editor(text: str) -> None:
    with pytest.raises(BadInput, match="millrace policy edit"):
        edit.with_keys(text, {"layout.spares": 3})


def test_set_writes_validates_and_applies_what_takes_effect_at_once(
    systemctl: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    wrote(TEXT)
    paths.policy_file().chmod(0o600)
    assert run(["policy", "set", "md.discard=never", "layout.spares=default", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [(change["key"], change["after"], change["when"]) for change in document["changes"]] == [
        ("layout.spares", None, "new pool"),
        ("md.discard", "never", "now"),
    ]
    assert document["applied"] == [TUNE, SHARES]
    assert [words[1:] for words in systemctl] == [["try-reload-or-restart", unit] for unit in document["applied"]]
    assert load_policy().md.discard == "never" and load_policy().layout.spares is None
    assert paths.policy_file().stat().st_mode & 0o777 == 0o600
    assert policy_in_force.last_good() == load_policy()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["layout.chunk_kib=96"], "layout.chunk_kib: must be a power of two"),
        (["layout.spare=2"], "the policy has no key 'layout.spare'; all keys: millrace policy show"),
        (["layout.spares"], "'layout.spares' is not KEY=VALUE"),
        (["layout.level=raid6", "layout.legs=2"], "level raid6 contradicts legs 2"),
        (["nfs.networks=10.0.0.5/24"], "10.0.0.5/24"),
        (["nfsd.localio=yes"], "nfsd.localio: must be true or false"),
    ],
)
def test_value_that_is_wrong_changes_nothing(
    systemctl: list[list[str]], words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    wrote(TEXT)
    assert run(["policy", "set", *words]) == 2
    assert said in capsys.readouterr().err
    assert paths.policy_file().read_text() == TEXT and systemctl == []


def test_dry_run_shows_when_each_key_takes_effect_and_writes_nothing(
    systemctl: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["nfs.networks=10.1.0.0/24,10.2.0.0/24", "nfsd.lease_time=60", "layout.spares=1"]
    assert run(["policy", "set", *words, "--dry-run"]) == 0
    text = capsys.readouterr().out
    assert "10.1.0.0/24, 10.2.0.0/24  at once" in text and "at the next boot" in text and "only in a new pool" in text
    assert not paths.policy_file().exists() and systemctl == []


def test_unit_that_cannot_apply_a_policy_is_named(systemctl: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    refused = Result(1, "", "Job for millrace-tune.service failed.\n")
    monkeypatch.setattr("millrace.system.run.attempt", lambda words, **_: refused)
    assert run(["policy", "set", "md.discard=never"]) == 1
    assert load_policy().md.discard == "never"


def test_first_change_keeps_what_a_credential_brought(systemctl: list[list[str]]) -> None:
    credential = paths.run_dir() / "policy.toml"
    credential.parent.mkdir(parents=True)
    credential.write_text("[layout]\nspares = 2\n")
    assert run(["policy", "set", "scrub.every=week"]) == 0
    assert paths.policy_file().read_text() == '[layout]\nspares = 2\n\n[scrub]\nevery = "week"\n'
    assert systemctl == []


def test_policy_that_cannot_be_read_leaves_the_last_one_in_force_and_is_named(
    systemctl: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["policy", "set", "md.discard=never"]) == 0
    wrote("[md]\ndiscard = 3\n")
    capsys.readouterr()
    assert run(["policy", "show"]) == 0
    printed = capsys.readouterr()
    assert "md.discard  never" in printed.out
    assert "md.discard: must be 'never'; the policy of " in printed.err and "stays in force" in printed.err
    assert run(["policy", "diff"]) == 2 and run(["policy", "set", "scrub.every=week"]) == 2


def test_diff_shows_what_was_edited_by_hand(systemctl: list[list[str]], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["policy", "set", "layout.spares=2"]) == 0
    wrote("[layout]\nspares = 3\n")
    capsys.readouterr()
    assert run(["policy", "diff"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[:3] == ["layout.spares", "2", "3"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_edit_opens_a_wrong_policy_again_and_keeps_the_valid_one(
    systemctl: list[list[str]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wrote(TEXT)
    texts = iter([TEXT.replace("spares = 2", 'spares = "2"'), TEXT.replace("spares = 2", "spares = 4")])
    opened: list[str] = []
    monkeypatch.setattr(click, "edit", lambda text, extension: opened.append(text) or next(texts))
    monkeypatch.setattr("sys.stdin", Terminal("y\n"))
    assert run(["policy", "edit"]) == 0
    assert "layout.spares: must be a whole number" in capsys.readouterr().err
    assert 'spares = "2"' in opened[1] and load_policy().layout.spares == 4


@pytest.mark.parametrize("edited", [None, TEXT])
def test_edit_that_changes_nothing_is_refused(
    systemctl: list[list[str]], monkeypatch: pytest.MonkeyPatch, edited: str | None
) -> None:
    wrote(TEXT)
    monkeypatch.setattr(click, "edit", lambda text, extension: edited)
    assert run(["policy", "edit"]) == 1
    assert paths.policy_file().read_text() == TEXT


def test_keys_are_listed_with_those_that_are_not_set_on_request(
    root_user: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrote(TEXT)
    assert run(["policy", "show"]) == 0
    short = capsys.readouterr().out
    assert "layout.spares" in short and "layout.level" not in short
    assert run(["policy", "show", "--all"]) == 0
    text = capsys.readouterr().out
    assert all(key.key in text for key in described(Policy()))
    assert keys.EFFECT["new pool"] in text
