# SPDX-License-Identifier: Apache-2.0
"""Samba's own torture tests, smb2 of the image's release, against a share of one type.

A file of stories says `TYPE = "home"` and takes all names from here. Each group of tests is a story of its own.
"""

import functools
from collections.abc import Iterator

import pytest

from host.soak_rows import FAILED
from host.suites import results, table
from tests.vm.box import Box
from tests.vm.shares.suites import SECOND, make_second_user, unexplained
from tests.vm.shares.words import HOST, PASSWORD
from vm.machine import Machine

__all__ = [
    "pytest_generate_tests",
    "shared",
    "test_every_group_is_run_or_left_out_with_a_reason",
    "test_nothing_fails_without_a_reason",
]

SUITE = "smbtorture"
# Seconds for a whole group, and for a test alone when its group did not come to an end.
GROUP_SECONDS, TEST_SECONDS = 900, 120
OPTIONS = (
    "--format=subunit --fullname --target=samba3 --option=torture:sharedelay=100000 "
    "--option=torture:writetimeupdatedelay=500000 "
    f"--option=torture:user2name={SECOND} --option=torture:user2password={PASSWORD}"
)
# What every Samba has, by group.
PLAIN = (
    "async_dosmode charset compound compound_async connect create delete-on-close-perms deny dosmode ea fileid getinfo "
    "ioctl ioctl-on-stream lock maximum_allowed mkdir mkdir-long-name notify openattr read rename rw secleak session "
    "session-id set-sparse-ioctl setinfo sharemode streams tcon timestamps winattr winattr2 zero-data-ioctl"
)
CACHING = (
    "dirlease durable-open durable-open-disconnect durable-v2-open durable-v2-regressions lease multichannel oplock "
    "replay"
)
ACCESS = "acls-with-sysacl acls_non_canonical sdread"
"""Groups by what they are about."""
GROUPS = {
    "mixed": f"{PLAIN} {ACCESS}",
    "training": f"{PLAIN} {ACCESS} {CACHING}",
    "checkpoint": f"{PLAIN} {ACCESS} {CACHING}",
    "home": f"{PLAIN} {ACCESS} {CACHING}",
    "dataset-ro": "connect read rw session-id tcon",
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "group" in metafunc.fixturenames:
        metafunc.parametrize("group", GROUPS[metafunc.module.TYPE].split())


@pytest.fixture(scope="module")
def shared(box: Box, models: str, request: pytest.FixtureRequest) -> Iterator[str]:
    """A share of the type, and its name."""
    kind = request.module.TYPE
    name = f"torture-{kind}"
    nfs = "" if kind == "mixed" else "--no-nfs"
    make_second_user(box)
    words = f"share create {name} --type {kind} {nfs} --smb-user anna --smb-user {SECOND}"
    box.millrace(words, seconds=600)
    yield name
    box.millrace(f"share remove {name} --delete-data {name}", seconds=600)
    box.millrace(f"user remove {SECOND}", seconds=300)


@functools.cache
def tests_of(client: Machine) -> list[str]:
    return results.tests_of_smbtorture(client.run("smbtorture --list", seconds=300).out)


def run(client: Machine, share: str, what: str, seconds: int) -> str:
    command = f"smbtorture {OPTIONS} -A /run/anna //{HOST}/{share} {what}"
    return client.run(f"timeout {seconds} {command} 2>&1", check=False, seconds=seconds + 60).out


def failed_without_reason(client: Machine, share: str, kind: str, group: str) -> list[str]:
    """Run a group of tests, and alone each test that it did not come to; return those that fail without a reason."""
    wanted = [test for test in tests_of(client) if test.split(".")[1] == group]
    output = run(client, share, f"smb2.{group}", GROUP_SECONDS)
    ended = results.of_smbtorture(output)
    for test in results.not_ended(ended, wanted):
        alone = run(client, share, test, TEST_SECONDS)
        output += alone
        ended |= results.of_smbtorture(alone)
    return unexplained(SUITE, kind, ended | dict.fromkeys(results.not_ended(ended, wanted), FAILED), output)


def test_nothing_fails_without_a_reason(
    client: Machine, shared: str, group: str, request: pytest.FixtureRequest
) -> None:
    assert failed_without_reason(client, shared, request.module.TYPE, group) == []


def test_every_group_is_run_or_left_out_with_a_reason(client: Machine, request: pytest.FixtureRequest) -> None:
    kind = request.module.TYPE
    groups = {group.removeprefix("smb2.") for group in results.groups_of(tests_of(client))}
    chosen = set(GROUPS[kind].split())
    assert chosen <= groups
    left_out = table.load(SUITE).not_run(kind, groups - chosen)
    assert groups - chosen - set(left_out) == set(), "a new group: run it, or leave it out with a reason"
