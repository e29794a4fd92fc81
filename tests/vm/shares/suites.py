# SPDX-License-Identifier: Apache-2.0
"""How the suites of others run on the test client; their results are compared with the tables in known/."""

import base64
import time
from collections.abc import Callable, Mapping

import pytest

from host.suites import table
from millrace.system.errors import Refused
from tests.vm.box import NETWORKS, Box
from tests.vm.shares.words import PASSWORD
from vm.agent import Result
from vm.machine import Machine

# A second user, whom some tests of smbtorture ask for.
SECOND = "bert"
# Beside `mixed` as it is: what root of a client does is root's, as the suites expect.
UNSQUASHED = "suites"


def available(source: Callable[[], bytes]) -> bytes:
    """Return what a source has; the story is skipped, with the reason, where it has nothing."""
    try:
        return source()
    except Refused as error:
        pytest.skip(str(error))


def put(client: Machine, data: bytes, path: str) -> None:
    """Write a file on the client; what goes there is text."""
    client.run(f"base64 -d > {path}", stdin=base64.b64encode(data).decode(), seconds=600)


def make_unsquashed(box: Box) -> None:
    """Make a share of NFS alone on which root of the client is root."""
    box.millrace(
        ["share", "create", UNSQUASHED, "--profile", "mixed", "--no-smb", "--nfs-client", f"{NETWORKS[0]} squash=none"],
        seconds=600,
    )


def make_second_user(box: Box) -> None:
    box.machine.run(["millrace", "user", "create", SECOND, "--password-stdin"], stdin=PASSWORD + "\n", seconds=300)


def unexplained(suite: str, place: str, results: Mapping[str, str], output: str) -> list[str]:
    """Return each test that did not succeed and has no reason in the table; print how many tests ended how."""
    endings = list(results.values())
    print(f"{suite} {place}:", ", ".join(f"{endings.count(ending)} {ending}" for ending in sorted(set(endings))))
    new = table.load(suite).new(place, results)
    if new:
        print(output)
    return new


def run_long(client: Machine, line: str, seconds: float, meanwhile: Callable[[], None] = lambda: None) -> Result:
    """Run a shell line on the client beside its agent, as long as `seconds` (scaled); return what it printed.

    `meanwhile` is called again and again while it runs.
    """
    client.run("cat > /run/suite.sh", stdin=line + "\n")
    client.run(
        "rm -f /run/suite.out; systemd-run --collect --unit=suite sh -c 'sh /run/suite.sh > /run/suite.out 2>&1'"
    )
    end = time.monotonic() + seconds * client.accel.scale
    running = "timeout 20 sh -c 'while systemctl is-active --quiet suite; do sleep 1; done'"
    while client.run(running, check=False).status != 0:
        meanwhile()
        if time.monotonic() > end:
            client.run("systemctl stop suite", check=False)
            break
    return client.run("cat /run/suite.out")
