# SPDX-License-Identifier: Apache-2.0
"""The administrator's file wins over the credential of first boot; a mistake in it is named, never skipped."""

from pathlib import Path

import pytest

from millrace import paths
from millrace.errors import BadInput
from millrace.plan.policy import Policy
from millrace.plan.policy_file import load_policy, parse_policy


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    return tmp_path


def networks(name: str) -> str:
    return f'[nfs]\nnetworks = ["{name}"]\n'


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_no_policy_is_the_defaults() -> None:
    assert load_policy() == Policy()
    assert load_policy().nfs.privileged_ports is True


def test_the_file_wins_over_the_credential_of_this_boot(root: Path) -> None:
    put(root / "run/millrace/policy.toml", networks("10.1.0.0/16"))
    assert load_policy().nfs.networks == ["10.1.0.0/16"]
    put(root / "etc/millrace/policy.toml", networks("10.2.0.0/16"))
    assert load_policy().nfs.networks == ["10.2.0.0/16"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[nfs]\nnetwork = []\n", "nfs.network: this key is not known"),
        ("[smb]\n", "smb: this key is not known"),
        (networks("10.0.0.1/8"), "nfs.networks"),
        ("[nfs]\nprivileged_ports = 7\n", "nfs.privileged_ports"),
        ("[nfs\n", "not valid TOML"),
    ],
)
def test_a_mistake_names_the_file_and_the_key(text: str, words: str) -> None:
    with pytest.raises(BadInput, match=r"policy\.toml") as error:
        parse_policy(text, "/etc/millrace/policy.toml")
    assert words in str(error.value)
