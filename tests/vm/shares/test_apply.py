# SPDX-License-Identifier: Apache-2.0
"""A file makes this server what it says: once, as a whole, and what it does not name only with --prune."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.vm.box import SERVER_ADDRESSES, Box
from tests.vm.shares.words import HOST
from vm.machine import Machine

# by hand until a row of soak has seen it
pytestmark = [pytest.mark.soak, pytest.mark.usefixtures("models")]

FILE, SECRET, PASSWORD = "/root/server.toml", "/root/zoe.password", "zoe-has-another-one-9"
TEXT = f"""
[groups.applied]

[users.zoe]
groups = ["applied"]
password_file = "{SECRET}"

[access.yuri]
role = "viewer"

[shares.applied]
type = "mixed"
size = "64M"
snapshots = {{ daily = 2 }}
smb = {{ groups = ["applied"] }}

[policy.snapshots]
free = 13
"""
WRONG = "[shares.applied]\ntyp = 'mixed'\n"
CHECK = ["apply", FILE, "--check"]


def write(box: Box, text: str, path: str = FILE) -> None:
    box.machine.run(f"umask 077; cat > {path}", stdin=text)


def serial(box: Box) -> int:
    return int(box.shown("config show --json")["serial"])


def shares(box: Box) -> dict[str, Any]:
    return {share["name"]: share for share in box.shown("share list --json")["shares"]}


@pytest.fixture(scope="module")
def applied(box: Box) -> Iterator[Any]:
    """A server that was made what the file says; as it was before when the stories are told."""
    number = serial(box)
    write(box, f"{PASSWORD}\n", SECRET)
    write(box, TEXT)
    first = box.millrace(CHECK, check=False)
    assert first.status == 3 and "+ share applied" in first.out and "applied" not in shares(box)
    yield json.loads(box.millrace(["apply", FILE, "--json"], seconds=900).out)
    box.millrace(f"config rollback {number}", seconds=900)
    box.millrace("policy set snapshots.free=default", seconds=600)
    box.say(f"rm -rf {FILE} {SECRET} /srv/pool/applied /root/all.toml")


def test_file_is_served_by_one_change(box: Box, client: Machine, applied: Any) -> None:
    assert applied["applied"] and applied["serial"] == serial(box) and applied["without_password"] == ["yuri"]
    client.run("umask 077; cat > /run/zoe", stdin=f"username=zoe\npassword={PASSWORD}\n")
    client.run(f"smbclient -A /run/zoe -t 300 //{HOST}/applied -c 'mkdir kept'", seconds=600)
    assert box.shown("policy show --json")["file"] == "/etc/millrace/policy.toml"
    assert "free = 13" in box.say("cat /etc/millrace/policy.toml")
    assert f"apply {FILE.rpartition('/')[2]}" in box.millrace("config history").out


def test_second_time_changes_nothing(box: Box, applied: Any) -> None:
    number = serial(box)
    assert box.millrace(CHECK).status == 0
    assert "Nothing to do" in box.millrace(["apply", FILE]).out and serial(box) == number


def test_export_is_the_server_as_it_is(box: Box, applied: Any) -> None:
    box.millrace("config export /root/all.toml")
    said = box.millrace("apply /root/all.toml --prune --check --diff", check=False)
    assert said.status == 0, said.out + said.err
    assert PASSWORD not in box.say("cat /root/all.toml") and box.say("stat -c %a /root/all.toml") == "600"


def test_wrong_key_has_its_line_and_changes_nothing(box: Box, applied: Any) -> None:
    write(box, WRONG, "/root/wrong.toml")
    said = box.millrace("apply /root/wrong.toml", check=False)
    assert said.status == 2 and "/root/wrong.toml:2: shares.applied.typ: unknown key" in said.err
    box.say("rm /root/wrong.toml")


def test_part_that_fails_rolls_all_back(box: Box, applied: Any) -> None:
    number = serial(box)
    # a file where the directory of the share is to be: the policy has been changed when that is found
    box.say("touch /srv/pool/late")
    write(box, "[policy.snapshots]\nfree = 14\n[shares.late]\n")
    said = box.millrace(["apply", FILE], check=False, seconds=900)
    assert said.status != 0 and "nothing was changed" in said.err
    assert serial(box) == number and "late" not in shares(box)
    assert "free = 13" in box.say("rm /srv/pool/late; cat /etc/millrace/policy.toml")
    write(box, TEXT)


def test_network_waits_for_its_confirmation(box: Box, applied: Any) -> None:
    name = str(box.link(SERVER_ADDRESSES[1])["name"])
    addresses = [f"{SERVER_ADDRESSES[1]}/24", "10.77.1.12/24"]
    write(box, f"[network.ports.{name}]\naddresses = {json.dumps(addresses)}\n")
    said = box.millrace(["apply", FILE], seconds=900)
    assert "millrace network confirm" in said.err and "10.77.1.12" in box.say(f"ip -4 -o addr show dev {name}")
    box.millrace("network rollback", seconds=600)
    assert "10.77.1.12" not in box.say(f"ip -4 -o addr show dev {name}")
    write(box, TEXT)


def test_pruned_share_is_not_served_and_its_data_stays(box: Box, client: Machine, applied: Any) -> None:
    kept = [name for name in shares(box) if name != "applied"]
    write(box, "".join(f"[shares.{name}]\n" for name in kept))
    asked = box.millrace(["apply", FILE, "--prune"], check=False)
    assert asked.status == 2 and "--yes" in asked.err and "applied" in shares(box)
    box.millrace(["apply", FILE, "--prune", "--yes"], seconds=900)
    assert "applied" not in shares(box) and set(kept) <= set(shares(box))
    assert client.run(f"smbclient -A /run/zoe //{HOST}/applied -c ls", check=False, seconds=300).status != 0
    assert box.say("ls /srv/pool/applied") == "kept"
