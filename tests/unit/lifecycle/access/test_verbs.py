# SPDX-License-Identifier: Apache-2.0
"""`millrace access list` for a terminal: people, and the keys of each, under headers."""

import re

import pytest
from click.testing import CliRunner

from millrace.lifecycle.access import model
from millrace.lifecycle.access.model import AccessList
from millrace.lifecycle.access.people import KeyEntry, PersonEntry
from millrace.lifecycle.access.verbs import access

KEY = KeyEntry(type="sk-ssh-ed25519@openssh.com", fingerprint="SHA256:abc", comment="desk", security_key=True)


def listed(monkeypatch: pytest.MonkeyPatch, *keys: KeyEntry) -> str:
    person = PersonEntry(
        name="ana",
        full_name="Ana",
        role="operator",
        locked=False,
        keys=list(keys),
        second_factor=True,
        recovery_codes=8,
    )
    monkeypatch.setattr(model, "access_list", lambda run: AccessList(people=[person], ssh=True))
    return CliRunner().invoke(access, ["list"], standalone_mode=False).output


def test_keys_are_a_table_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = listed(monkeypatch, KEY).splitlines()
    assert [re.split(r" {2,}", line) for line in lines[2:4]] == [
        ["Key of", "Type", "Fingerprint", "Comment"],
        ["ana", "security key", "SHA256:abc", "desk"],
    ]


def test_without_keys_there_is_no_table_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "Key of" not in listed(monkeypatch)
