# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a file is named with its line and what is allowed, all of it at once."""

from pathlib import Path

import pytest

from millrace.cli.apply import reading
from millrace.cli.apply.model import ServerFile
from millrace.cli.apply.reading import FileProblems
from millrace.system.errors import BadInput
from tests.unit.cli.apply.server import FILE, AppliedServer, target


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "[shares.data]\ntyp = 'mixed'\n",
            ":2: shares.data.typ: unknown key; allowed are type, comment, .*; did you mean type?",
        ),
        ("[share.data]\n", ":1: share: unknown key; allowed are schema_version, network, .*; did you mean shares?"),
        ("\n[shares.data]\ntype = 'fast'\n", ":3: shares.data.type: must be 'training', .* or 'mixed'"),
        (
            "[shares.data.nfs]\nclients = [\n {client = '10.0.0.0/24'},\n {client = '10.1.0.0/24', acc = 'ro'}\n]",
            ":4: .*acc: unknown key; allowed are client, access",
        ),
        ("[shares.data.snapshots]\nhourly = 900\n", ":2: shares.data.snapshots.hourly: must be at most 168"),
        (
            "[shares.data]\nsize = '10 bananas'\n",
            ":2: shares.data.size: '10 bananas' is not a size: write it like 500G",
        ),
        ("[shares.data]\nsmb.users = 'anna'\n", ":2: shares.data.smb.users: must be a list"),
        ("[shares.'no/name']\n", ":1: shares.no/name: "),
        (
            "[users.anna]\npassword = 'clear'\n",
            ":2: users.anna.password: unknown key; allowed are groups, password_file",
        ),
        ("[users.anna]\npassword_hash = 'clear'\n", ":2: users.anna.password_hash: must match"),
        ("[network.ports.enp1s0]\nmtu = 80\n", ":2: network.ports.enp1s0.mtu: "),
        ("[alert_routes.a]\ndaily = '08:00'\n", ":1: alert_routes.a: kind is missing"),
        ("schema_version = 2\n", ":1: schema_version: must be 1"),
    ],
)
def test_wrong_key_or_value_has_its_line_and_what_is_allowed(text: str, sentence: str) -> None:
    with pytest.raises(FileProblems) as caught:
        reading.parse(text, FILE)
    assert len(caught.value.problems) >= 1
    caught.match(f"server.toml{sentence}".replace("?", r"\?").replace("did you mean type\\?", "did you mean type"))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "[shares.data]\nsoft_size = '2T'\nsize = '1T'\n",
            r":1: shares\.data: the soft limit of data is above its size",
        ),
        ("[shares.new]\ntype = 'home'\ngroup = 'ml'\n", r":1: shares\.new: new has the type home, which determines"),
        ("[shares.new]\n\n[shares.new.smb]\ngroups = ['ml']\n", r":1: .*share new names the unknown group ml"),
        ("[access.eve]\n", r":1: access\.eve: eve needs a role; allowed are administrator, operator, viewer"),
        ("[users.admin]\n", r":1: users\.admin: admin manages this server: it belongs into \[access\.admin\]"),
        (
            "[network]\n\n[network.ports.enp9s0]\n",
            r":3: network\.ports\.enp9s0: there is no port enp9s0; allowed are enp1s0",
        ),
        ("[network.bonds.bond0]\n", r":1: network\.bonds\.bond0: members is missing"),
        ("[alert_routes.a]\nkind = 'mail'\nserver = 'mail.example.com'\n", r":1: alert_routes\.a: sender is missing"),
        ("[alert_routes.a]\nkind = 'syslog'\nhost = 'x'\n", r":1: alert_routes\.a: host is no key of a syslog route"),
        ("[policy.scrub]\n\nevery = 'day'\n", r":3: policy\.scrub\.every: must be 'week', "),
        ("[policy.scrub]\neach = 'week'\n", r":2: policy\.scrub\.each: unknown key; allowed are window, every"),
        ("[policy.smb_direct]\nports = ['enp1s0']\n", r":1: policy\.smb_direct: SMB Direct is neither signed"),
    ],
)
def test_what_this_server_cannot_be_has_its_line(server: AppliedServer, text: str, sentence: str) -> None:
    with pytest.raises(FileProblems, match=rf"^server\.toml{sentence}"):
        target(text, server)
    assert not server.called("systemctl")


def test_all_problems_are_named_in_the_order_of_the_lines() -> None:
    text = "[users.anna]\ngroup = 'ml'\n[shares.data]\ntype = 3\nsmb.audit = 'yes'\n"
    with pytest.raises(FileProblems, match=r"\(and 2 more problems\); nothing was changed") as caught:
        reading.parse(text, FILE)
    assert [problem.split(":")[1] for problem in caught.value.problems] == ["2", "4", "5"]


def test_text_that_is_no_toml_has_its_line() -> None:
    with pytest.raises(BadInput, match=r"server\.toml is not valid TOML: .*line 2"):
        reading.parse("[shares.data]\ntype\n", FILE)


@pytest.mark.parametrize(("mode", "warned"), [(0o600, False), (0o640, True)])
def test_hashes_that_others_can_read_are_warned_of(tmp_path: Path, mode: int, warned: bool) -> None:
    path = tmp_path / "server.toml"
    path.write_text(f"[users.anna]\npassword_hash = '$y$j9T$a$b'\nsmb_hash = '{'A1' * 16}'\n")
    path.chmod(mode)
    sentence = f"{path} has password hashes and is readable for others: chmod 600 {path}"
    assert reading.read(path).warnings == ([sentence] if warned else [])


def test_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"none\.toml cannot be read: No such file"):
        reading.read(tmp_path / "none.toml")


def test_schema_has_each_key_of_the_policy_and_of_shares() -> None:
    schema = ServerFile.model_json_schema()
    assert {"ShareEntry", "ScrubPolicy", "NfsClient", "SnapshotSchedule"} <= set(schema["$defs"])
    assert schema["additionalProperties"] is False
