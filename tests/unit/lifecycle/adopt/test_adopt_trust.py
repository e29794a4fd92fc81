# SPDX-License-Identifier: Apache-2.0
"""Drives of somebody else: what their state lets in comes where a person has seen it, and not what they refused."""

from pathlib import Path

import pytest

from host.layout import REPO
from millrace.lifecycle.adopt import adopt, search, text, verbs
from millrace.lifecycle.adopt.model import Adopted, Adoption
from millrace.lifecycle.adopt.search import Seen
from millrace.lifecycle.keep import trust
from millrace.lifecycle.keep.generation_store import Newest
from millrace.system.errors import BadInput
from tests.fakes.samples import pool
from tests.unit.lifecycle.adopt import states
from tests.unit.lifecycle.adopt.conftest import Drives
from tests.unit.lifecycle.adopt.power import Accounts, BootDrive
from tests.unit.lifecycle.adopt.test_adopt_power_cuts import fresh, wire

FORGED = {
    "root/.ssh/authorized_keys": b"ssh-ed25519 AAAAC3Nz mallory\n",
    "etc/millrace/ssh-enabled": b"",
    "etc/millrace/update-keys.pgp": b"a key",
    "var/lib/millrace/update/source.json": b'{"schema_version": 1, "url": "https://evil.example"}',
}


@pytest.fixture
def tools(root: Path, monkeypatch: pytest.MonkeyPatch) -> Accounts:
    """A new boot drive with drives whose state was written by another."""
    fresh(root)
    (root / "root").mkdir()
    drive = BootDrive(root, forgets=False)
    wire(monkeypatch, drive)
    newest = Newest(3, states.generation(states.kept() | FORGED), {})
    monkeypatch.setattr(search, "see", lambda system, arrays: Seen(list(arrays), pool().filesystem_uuid, newest))
    return Accounts(drive)


def begun(tools: Accounts, by: str, **more: object) -> Adoption:
    drives = Drives()
    drives.array("data", pool().arrays[0].uuid, "raid5", ["a1", "b1", "c1"])
    drives.now = lambda: "2026-11-24T10:00:00+00:00"  # type: ignore[attr-defined]
    return adopt.begin(drives, tools, "auto", by, None, **more)  # type: ignore[arg-type]


def there(root: Path) -> set[str]:
    return {path for path in FORGED if (root / path).exists()}


def test_what_was_seen_and_confirmed_comes_along(root: Path, tools: Accounts) -> None:
    done = adopt.finish(begun(tools, "anna"), tools)
    assert there(root) == {*FORGED}
    assert done.missing == []


def test_adoption_that_nobody_confirms_lets_nobody_in(root: Path, tools: Accounts) -> None:
    done = adopt.finish(begun(tools, adopt.CREDENTIAL), tools)
    assert there(root) == set()
    assert done.missing == [trust.LEFT_OUT[kind] for kind in ("password", "ssh-keys", "ssh", "update-keys", "updates")]
    assert "$y$admin" not in str(tools.stdin) and "$y$anna" in str(tools.stdin)
    # the identity of the server comes back all the same
    assert (root / "var/lib/samba/private/secrets.tdb").read_text() == "database of SID"


def test_adoption_that_nobody_confirms_leaves_out_what_serves_clients_too(root: Path, tools: Accounts) -> None:
    left_out = set(begun(tools, adopt.CREDENTIAL).without)
    assert left_out == {*trust.KINDS} and left_out > trust.SERVED


def test_one_kind_that_is_refused_stays_away(root: Path, tools: Accounts) -> None:
    done = adopt.finish(begun(tools, "anna", without=["ssh-keys", "updates"]), tools)
    assert there(root) == {"etc/millrace/ssh-enabled", "etc/millrace/update-keys.pgp"}
    assert done.missing == [trust.LEFT_OUT["ssh-keys"], trust.LEFT_OUT["updates"]]


def test_without_secrets_means_it_where_nothing_is_encrypted(root: Path, tools: Accounts) -> None:
    done: Adopted = adopt.finish(begun(tools, "anna", secrets=False), tools)
    assert there(root) == set()
    assert not (root / "var/lib/samba/private/secrets.tdb").exists()
    assert not (root / "var/lib/millrace/nfs-handles.key").exists()
    assert not any("$y$" in given for given in map(str, tools.stdin))
    assert trust.LEFT_OUT["password"] in done.missing


def test_found_list_says_what_is_trusted_and_how_it_is_left_out() -> None:
    kept = states.generation(states.kept() | FORGED)
    lines = [line for one in trust.trusted(kept) for line in text.trusted(one)]
    assert lines[0] == "the password of the last server opens this one: admin (leave out: --without password)"
    assert "updates come from the URL of the last server: https://evil.example (leave out: --without updates)" in lines
    with pytest.raises(
        BadInput, match="'keys' is nothing that can be left out: use one of people, password, ssh-keys, "
    ):
        verbs.kinds(("keys",))


def test_help_and_manual_name_each_kind_that_can_be_left_out() -> None:
    (option,) = [each for each in verbs.adopt.params if each.name == "without"]
    manual = (REPO / "docs/adopt.md").read_text()
    for kind in trust.KINDS:
        assert kind in str(getattr(option, "help", "")).replace(",", "").replace(";", "").split()
        assert f"| `{kind}` |" in manual
