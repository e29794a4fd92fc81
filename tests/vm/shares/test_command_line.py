# SPDX-License-Identifier: Apache-2.0
"""The command line of a server that serves: drives by any of their names, completion for everybody, and the policy."""

import json
from typing import Any

import pytest

from tests.vm.box import Box

POLICY = "/etc/millrace/policy.toml"
# What bash asks the program for: the words of the line, and the number of the one under the cursor.
COMPLETE = "COMP_WORDS='millrace {line}' COMP_CWORD={number} _MILLRACE_COMPLETE=bash_complete millrace"

pytestmark = pytest.mark.usefixtures("models")


def completed(box: Box, line: str, number: int, user: str = "admin") -> list[str]:
    """What is offered to a user, without the type that stands before each word."""
    shell = COMPLETE.format(line=line, number=number)
    return [row.partition(",")[2] for row in box.say(f"runuser -u {user} -- env {shell}").splitlines()]


@pytest.fixture(scope="module")
def drive(box: Box) -> dict[str, Any]:
    """A member of the data array."""
    return next(row for row in box.shown("drive list --json")["drives"] if row["role"] == "data" and row["name"])


def test_drive_is_named_by_serial_number_bay_or_device(box: Box, drive: dict[str, Any]) -> None:
    link = box.say(f"find /dev/disk/by-id -lname '*/{drive['name']}' | head -n 1")
    names = [drive["serial"], drive["name"], f"/dev/{drive['name']}", link]
    names += [drive["bay"]] if drive["bay"] else []
    assert link.startswith("/dev/disk/by-id/")
    for name in names:
        assert box.shown(f"drive show {name} --json")["drive"]["serial"] == drive["serial"], name
    refused = box.millrace("drive show /dev/nvme99n1", check=False)
    assert refused.status == 1 and "no drive has the serial number, bay or device name" in refused.err


def test_names_are_completed_for_a_user_without_rights(box: Box, drive: dict[str, Any]) -> None:
    assert "models" in completed(box, "share show ", 3)
    assert drive["serial"] in completed(box, "drive show ", 3)
    assert "anna" in completed(box, "user passwd ", 3)
    assert "layout.spares=" in completed(box, "policy set layout.s", 3)


def test_wrong_word_is_answered_with_the_right_one(box: Box) -> None:
    said = box.millrace("share delete models", check=False)
    assert said.status == 2 and "Did you mean 'remove'?" in said.err
    assert box.millrace("-h").out == box.millrace("help").out


def test_size_above_that_of_the_pool_is_refused(box: Box) -> None:
    said = box.millrace("share set models --size 100P", check=False)
    assert said.status == 1 and "is above the size of the pool" in said.err
    (share,) = [share for share in box.shown("config show --json")["shares"] if share["name"] == "models"]
    assert share["size"] == 96 << 20


# by hand: it takes more minutes than CI has
@pytest.mark.soak
def test_policy_is_set_applied_and_taken_back(box: Box) -> None:
    there = box.say(f"test -e {POLICY} && cat {POLICY} || true")
    threads = box.say("nfsdctl threads")
    try:
        done = json.loads(box.millrace("policy set nfsd.threads=9 nfsd.threads_min=1 --json", seconds=600).out)
        assert [(change["key"], change["after"], change["when"]) for change in done["changes"]] == [
            ("nfsd.threads", 9, "now"),
            ("nfsd.threads_min", 1, "now"),
        ]
        assert done["applied"] == ["millrace-tune.service", "millrace-share.service"]
        assert box.say("nfsdctl threads") != threads
        assert box.millrace("policy diff").out.strip() == "Nothing changes."
        wrong = box.millrace("policy set nfsd.threads=many", check=False)
        assert wrong.status == 2 and "nfsd.threads: must be a whole number" in wrong.err
    finally:
        box.millrace("policy set nfsd.threads=default nfsd.threads_min=default", seconds=600)
    assert box.say("nfsdctl threads") == threads
    keys = {key["key"]: key for key in box.shown("policy show --json")["keys"]}
    assert not keys["nfsd.threads"]["is_set"]
    assert there in box.say(f"cat {POLICY}")


# by hand: it takes more minutes than CI has
@pytest.mark.soak
def test_policy_that_is_edited_wrong_stays_out_of_force_and_is_named(box: Box) -> None:
    box.millrace("policy set md.discard=never", seconds=600)
    kept = box.say(f"cat {POLICY}")
    try:
        box.machine.run(f"sed -i 's/discard = .*/discard = 3/' {POLICY}")
        seen = box.shown("policy show --json")
        assert "md.discard: must be 'never'" in seen["problem"] and "stays in force" in seen["problem"]
        assert {key["key"]: key["value"] for key in seen["keys"]}["md.discard"] == "never"
    finally:
        box.machine.run(f"cat > {POLICY}", stdin=f"{kept}\n")
        box.millrace("policy set md.discard=default", seconds=600)


# by hand until a row of soak has seen it
@pytest.mark.soak
def test_policy_is_edited_in_the_editor_of_the_image(box: Box) -> None:
    # an editor that cannot ask: it adds to the file that it is given
    box.machine.run("cat > /run/editor", stdin='printf \'\\n[scrub]\\nevery = "week"\\n\' >> "$1"\n')
    editor = "EDITOR='sh /run/editor'"
    before = box.say(f"cat {POLICY}")
    try:
        box.say(f"{editor} millrace policy edit", seconds=600)
        assert {key["key"]: key["value"] for key in box.shown("policy show --json")["keys"]}["scrub.every"] == "week"
    finally:
        box.machine.run(f"cat > {POLICY}", stdin=f"{before}\n")
    programs = "nano rsync tcpdump iperf3 iostat getfacl nfs4_getfacl"
    assert box.say(f"for each in {programs}; do command -v $each > /dev/null || echo $each; done") == ""
