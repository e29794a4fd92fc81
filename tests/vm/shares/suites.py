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
    """Make a share of NFS alone on which root of the client is root, and the umask of a client counts."""
    words = f"share create {UNSQUASHED} --type mixed --no-smb --writing own --nfs-client"
    box.millrace([*words.split(), f"{NETWORKS[0]} squash=none"], seconds=600)


def make_second_user(box: Box) -> None:
    box.machine.run(["millrace", "user", "create", SECOND, "--password-stdin"], stdin=PASSWORD + "\n", seconds=300)


def unexplained(suite: str, place: str, results: Mapping[str, str], output: str) -> list[str]:
    """Return each test that did not succeed and has no reason in the table; print how many tests ended how."""
    endings = list(results.values())
    print(f"{suite} {place}:", ", ".join(f"{endings.count(ending)} {ending}" for ending in sorted(set(endings))))
    new = table.load(suite).new(place, results)
    if new:
        print("Without a reason in the table:", *new, output, sep="\n")
    return new


def run_long(
    client: Machine, name: str, line: str, seconds: float, meanwhile: Callable[[], None] = lambda: None
) -> str:
    """Run a shell line on the client as the unit `name`, for `seconds` (scaled) at most; return what it printed.

    `meanwhile` is called again and again while it runs.
    """
    client.run(f"cat > /run/{name}.sh", stdin=line + "\n")
    printed = f"/run/{name}.out"
    client.run(f"systemd-run --collect --unit={name} sh -c 'exec sh /run/{name}.sh > {printed} 2>&1'")
    end = time.monotonic() + seconds * client.accel.scale
    ended = f"timeout 20 sh -c 'while systemctl is-active --quiet {name}; do sleep 1; done'"
    while client.run(ended, check=False).status != 0:
        meanwhile()
        if time.monotonic() > end:
            client.run(f"systemctl stop {name}", check=False)
            break
    return client.run(f"cat {printed}").out
