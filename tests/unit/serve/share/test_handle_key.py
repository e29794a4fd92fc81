# SPDX-License-Identifier: Apache-2.0
"""Every export signs its file handles, with a key that only root reads and that stays as it is."""

import re
import stat
from pathlib import Path

import pytest

from millrace.serve.config.model import first_config
from millrace.serve.share import handle_key
from millrace.serve.share.server import ShareServer
from tests.fakes.appliance import Appliance

REPO = Path(__file__).resolve().parents[4]
DROP_IN = REPO / "mkosi.extra/usr/lib/systemd/system/nfs-server.service.d/10-millrace.conf"


@pytest.fixture
def server(appliance: Appliance) -> ShareServer:
    return appliance.server()


def test_key_is_made_once_and_is_of_root_alone(appliance: Appliance) -> None:
    assert handle_key.ensure() is True
    key = handle_key.file().read_text()
    assert re.fullmatch(r"[0-9a-f]{64}\n", key)
    assert stat.S_IMODE(handle_key.file().stat().st_mode) == 0o600
    assert handle_key.ensure() is False
    assert handle_key.file().read_text() == key


def test_two_servers_have_two_keys(appliance: Appliance) -> None:
    handle_key.ensure()
    first = handle_key.file().read_text()
    handle_key.file().unlink()
    handle_key.ensure()
    assert handle_key.file().read_text() != first


# nfsdctl makes a key of anything, and of nothing one that is the same everywhere
@pytest.mark.parametrize("torn", [b"", b"\n", b"0" * 63 + b"\n", b"\xff\x00", b"0" * 64 + b"\nmore\n"])
def test_key_that_is_torn_counts_as_none(appliance: Appliance, torn: bytes) -> None:
    handle_key.file().parent.mkdir(parents=True, exist_ok=True)
    handle_key.file().write_bytes(torn)
    assert handle_key.ensure() is True
    assert re.fullmatch(r"[0-9a-f]{64}\n", handle_key.file().read_text())


def test_key_that_was_restored_for_all_to_read_is_of_root_alone_again(appliance: Appliance) -> None:
    handle_key.ensure()
    key = handle_key.file().read_text()
    handle_key.file().chmod(0o644)
    assert handle_key.ensure() is False
    assert stat.S_IMODE(handle_key.file().stat().st_mode) == 0o600
    assert handle_key.file().read_text() == key


def test_rendering_makes_the_key_before_anything_is_exported(appliance: Appliance, server: ShareServer) -> None:
    seen: list[bool] = []
    appliance.before["exportfs"] = lambda: seen.append(handle_key.file().exists())
    report = server.apply(first_config())
    assert f"/var/lib/millrace/{handle_key.NAME}" in report.changed
    assert seen and all(seen)
    assert f"/var/lib/millrace/{handle_key.NAME}" not in server.apply(first_config()).changed


def test_nfsd_gets_the_key_while_it_has_a_listener_and_no_thread() -> None:
    lines = [line for line in DROP_IN.read_text().splitlines() if line.startswith("ExecStart")]

    def step(words: str) -> int:
        (number,) = [number for number, line in enumerate(lines) if words in line]
        return number

    load = step(f"--fh-key-file=/var/lib/millrace/{handle_key.NAME}")
    assert lines[load].startswith("ExecStartPre=/usr/sbin/nfsdctl threads ") and lines[load].endswith(" 0")
    # the listener is gone again before what can only be set without one, and before the threads
    assert step('"tcp 2049" > /proc/fs/nfsd/portlist') < load < step("/proc/fs/nfsd/max_block_size")
    assert load < step("nfsdctl pool-mode") and load < step("ExecStart=/usr/sbin/rpc.nfsd")
