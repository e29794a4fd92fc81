# SPDX-License-Identifier: Apache-2.0
"""A kept state that somebody else wrote: what it lets in is named, and left out on request or where nobody is asked."""

import json

import pytest

from millrace.lifecycle.keep import kept_files, trust
from millrace.lifecycle.keep.generation import Generation
from millrace.lifecycle.keep.model import TrustKind
from tests.unit.lifecycle.adopt.states import SHADOW, generation
from tests.unit.lifecycle.adopt.states import kept as files

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIG5vYm9keSBrbm93cyB0aGUgcHJpdmF0ZSBwYXJ0IQ== mallory@laptop"
CONFIG = {
    "schema_version": 1,
    "users": [
        {"name": "anna", "uid": 2000},
        {"name": "eve", "uid": 2001, "role": "administrator", "keys": [KEY]},
        {"name": "olaf", "uid": 2002, "console": True},
    ],
    "admin": {"keys": [KEY]},
    "nfs": {"networks": ["10.66.0.0/16"]},
    "ports": [{"mac": "52:54:00:00:00:01", "name": "enp1s0", "addresses": ["10.66.0.2/24"], "gateway": "10.66.0.1"}],
    "shares": [
        {"name": "mine"},
        {"name": "data", "readers": [{"address": "10.66.0.8", "fingerprint": "AB:CD"}]},
        {"name": "copy", "replica": {"address": "10.66.0.9", "share": "data", "fingerprint": "EF:01"}},
        "none",
    ],
    "network": {
        "dns": ["10.66.0.53"],
        "ntp": ["time.evil.example"],
        "routes": [{"network": "10.0.0.0/8", "gateway": "10.66.0.9"}],
    },
}
POLICY = """# mine
[layout]
spares = 2
[journal]
forward = "https://logs.evil.example"
[nfs]
networks = ["10.67.0.0/16"]
copy_from = ["10.66.0.7"]
"""
FORGED = {
    trust.CONFIG: json.dumps(CONFIG).encode(),
    "var/lib/millrace/access/second-factor/admin": b"A SECRET\n",
    "home/admin/.ssh/authorized_keys": f"# mine\n{KEY}\n".encode(),
    "etc/millrace/policy.toml": POLICY.encode(),
    "var/lib/millrace/policy.last-good.toml": POLICY.encode(),
    "root/.ssh/authorized_keys": f'command="x" {KEY}\nssh-rsa AAAA!\nno key\n'.encode(),
    "etc/millrace/ssh-enabled": b"",
    "etc/millrace/update-keys.pgp": b"a key",
    "var/lib/millrace/update/source.json": b'{"url": "http://evil.example/\\u001b]0;x"}',
    "var/lib/millrace/backup/backups.json": b'{"backups": [{"target": {"host": "far.evil.example"}}]}',
    "var/lib/millrace/backup/secrets/offsite/password": b"secret\n",
    "var/lib/millrace/alert/routes.json": b'{"routes": [{"host": "mail.evil.example"}, {"host": null}]}',
    "var/lib/millrace/alert/secrets.json": b'{"secrets": {}}',
}


@pytest.fixture
def forged() -> Generation:
    return generation(files() | FORGED)


def test_everything_that_lets_somebody_in_is_named_with_what_tells_it_from_another(forged: Generation) -> None:
    shown = {power.kind: power.details for power in trust.trusted(forged)}
    assert [*shown] == list(trust.KINDS)
    assert shown["ssh-keys"][0].startswith("admin: SHA256:") and shown["ssh-keys"][0].endswith(" mallory@laptop")
    assert len(shown["ssh-keys"][0].split()[1]) == len("SHA256:") + 43
    # one with options, one that is none, and a line that nobody understands
    assert shown["ssh-keys"][1:] == [shown["ssh-keys"][0].replace("admin", "root"), *["root: " + trust.UNREADABLE] * 2]
    key = shown["ssh-keys"][0].removeprefix("admin")
    assert shown["people"] == ["eve: administrator", "olaf: viewer", f"admin{key}", f"eve{key}"]
    assert (shown["password"], shown["ssh"]) == (["admin"], [])
    assert shown["update-keys"][0].startswith("SHA-256 of the file: ")
    assert shown["alerts"] == ["mail.evil.example"]
    assert shown["backups"] == ["far.evil.example"]
    assert shown["journal"] == ["https://logs.evil.example"]
    assert shown["client-networks"] == ["10.66.0.0/16", "10.67.0.0/16", "copies from 10.66.0.7"]
    assert shown["readers"] == ["data: 10.66.0.8, CA AB:CD"]
    assert shown["replicas"] == ["copy: 10.66.0.9, CA EF:01"]
    assert shown["network"] == [
        "enp1s0: 10.66.0.2/24",
        "enp1s0: gateway 10.66.0.1",
        "DNS 10.66.0.53",
        "NTP time.evil.example",
        "route 10.0.0.0/8 via 10.66.0.9",
    ]
    assert all("\x1b" not in detail for details in shown.values() for detail in details)


def test_state_of_a_server_without_any_of_it_names_the_password_alone() -> None:
    assert [one.kind for one in trust.trusted(generation(files()))] == ["password"]
    assert trust.trusted(generation(files(shadow=b"anna:$y$anna:20000:::::\n"))) == []


def test_what_is_encrypted_is_named_and_not_shown(forged: Generation) -> None:
    members = [member.model_copy(update={"sealed": True}) for member in forged.manifest.members]
    sealed = Generation(forged.manifest.model_copy(update={"members": members}), forged.stored)
    details = [detail for one in trust.trusted(sealed) for detail in one.details]
    assert details and {detail.removeprefix("admin: ").removeprefix("root: ") for detail in details} == {
        trust.UNREADABLE
    }


@pytest.mark.parametrize("kind", trust.KINDS)
def test_each_kind_is_left_out_alone(forged: Generation, kind: TrustKind) -> None:
    stay = trust.left(forged.stored, [kind])
    away = {path for path in forged.stored if path not in stay}
    if kind == "people":
        assert away == {"var/lib/millrace/access/second-factor/admin"}
        config = json.loads(stay[trust.CONFIG])
        assert [user["name"] for user in config["users"]] == ["anna"] and "admin" not in config
        return
    if kind == "password":
        assert away == set() and stay[trust.SHADOW] == SHADOW.split(b"\n", 1)[1]
        return
    if kind in trust.POLICY_KEYS or kind in trust.CONFIG_KEYS or kind in trust.OF_SHARES:
        return
    assert away and stay[trust.SHADOW] == SHADOW
    left = Generation(forged.manifest, stay)
    assert not any(path in left.stored for path in away)
    assert all(trust.left(stay, [other]) != stay for other in trust.KINDS if other != kind)


@pytest.mark.parametrize("kind", ["journal", "client-networks", "readers", "replicas", "network"])
def test_part_of_a_document_is_left_out_and_the_rest_stays(forged: Generation, kind: TrustKind) -> None:
    stay = trust.left(forged.stored, [kind])
    again = generation(stay)
    assert kind not in {power.kind for power in trust.trusted(again)}
    assert {power.kind for power in trust.trusted(again)} == {*trust.KINDS} - trust.refused_with([kind])
    assert "spares = 2" in stay["etc/millrace/policy.toml"].decode()
    assert "spares = 2" in stay["var/lib/millrace/policy.last-good.toml"].decode()
    assert json.loads(stay[trust.CONFIG])["users"] == CONFIG["users"]


def test_replica_that_is_left_out_is_no_share_and_readers_leave_one(forged: Generation) -> None:
    change = "var/lib/millrace/config-history/7.json"
    state = {**forged.stored, change: json.dumps({"config": CONFIG}).encode()}
    stay = trust.left(state, ["client-networks"])
    for config in (json.loads(stay[trust.CONFIG]), json.loads(stay[change])["config"]):
        assert config["shares"] == [{"name": "mine"}, {"name": "data"}, "none"]
    stay = trust.without_secrets(forged.manifest.members, forged.stored)
    assert json.loads(stay[trust.CONFIG])["shares"] == [{"name": "mine"}, {"name": "data"}, "none"]


def test_policy_that_hides_what_is_to_be_left_out_does_not_come_back(forged: Generation) -> None:
    hidden = b'journal = { forward = "https://logs.evil.example" }\n'
    stay = trust.left({**forged.stored, "etc/millrace/policy.toml": hidden}, ["journal"])
    assert "etc/millrace/policy.toml" not in stay
    assert trust.left({"etc/millrace/policy.toml": b"\xff"}, ["journal"]) == {}


def test_without_secrets_nothing_comes_that_others_may_not_read_whatever_the_state_says(forged: Generation) -> None:
    """A forged state says of no file that it is a secret."""
    assert not any(member.secret for member in forged.manifest.members)
    stay = trust.without_secrets(forged.manifest.members, forged.stored)
    assert {*stay} == {
        "var/lib/millrace/config.json",
        "var/lib/millrace/pool.json",
        "etc/hostname",
        "accounts/quotas.json",
        "etc/millrace/policy.toml",
        "var/lib/millrace/policy.last-good.toml",
    }
    kinds = {power.kind for power in trust.trusted(generation(stay))}
    # else nobody would be served
    assert kinds == trust.SERVED


def test_each_path_of_the_table_is_one_that_is_kept() -> None:
    patterns = [pattern for patterns in trust.PATHS.values() for pattern in patterns]
    assert all(kept_files.fate(pattern.replace("*", "routes.json")) for pattern in patterns)
    assert {*trust.PATHS} == {*trust.LEFT_OUT} == {*trust.KINDS}


def test_no_rollback_brings_people_back_that_were_left_out(forged: Generation) -> None:
    change = {"schema_version": 1, "number": 6, "who": "eve", "when": "", "what": "", "config": CONFIG}
    path = "var/lib/millrace/config-history/6.json"
    stay = trust.left({**forged.stored, path: json.dumps(change).encode()}, ["people"])
    config = json.loads(stay[path])["config"]
    assert [user["name"] for user in config["users"]] == ["anna"] and "admin" not in config


def test_key_in_other_letters_is_named_and_long_lists_take_no_time() -> None:
    hostile = {
        "root/.ssh/authorized_keys": "ssh-ed25519 AAAAé mallory\n".encode(),
        "var/lib/millrace/update/source.json": b'{"url": "https://x", "more": [' + b"0," * 2_000_000 + b"0]}",
    }
    shown = {power.kind: power.details for power in trust.trusted(generation(hostile))}
    assert shown["ssh-keys"] == [f"root: {trust.UNREADABLE}"]
    assert shown["updates"] == ["https://x"]
