# SPDX-License-Identifier: Apache-2.0
"""Only a whole drive that nothing uses may be written, and the refusal says what uses it."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from host import block_device
from millrace.system.errors import BadInput, Failed, MillraceError, Refused

NEEDED = 3_255_845_376


def row(path: str = "/dev/sdb", kind: str = "disk", mounted: str | None = None, **more: Any) -> dict[str, Any]:
    """A row as lsblk 2.38 prints it."""
    return {
        "path": path,
        "type": kind,
        "size": 480_103_981_056,
        "model": "ACME SSD",
        "serial": "S1234",
        "mountpoints": [mounted],
        "ro": False,
        "log-sec": 512,
        **more,
    }


def device(shown: dict[str, Any]) -> block_device.BlockDevice:
    def run(argv: Sequence[str]) -> subprocess.CompletedProcess[str]:
        assert argv == ["lsblk", "--json", "--bytes", "--output", block_device.COLUMNS, "/dev/null-device"]
        return subprocess.CompletedProcess(argv, 0, json.dumps({"blockdevices": [shown]}), "")

    return block_device.find(Path("/dev/null-device"), run)


@pytest.fixture(autouse=True)
def every_path_is_a_block_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_device.stat, "S_ISBLK", lambda mode: True)
    monkeypatch.setattr(Path, "stat", lambda path, **_: type("Status", (), {"st_mode": 0}))


def test_unused_drive_is_accepted_and_named() -> None:
    found = device(row(children=[row("/dev/sdb1", "part")]))
    block_device.check(found, NEEDED)
    assert str(found) == "/dev/sdb: ACME SSD, serial S1234, 480 GB"
    assert found.name == "S1234"


def test_drive_without_serial_is_confirmed_by_its_path() -> None:
    assert device(row(serial=None, model=None)).name == "/dev/sdb"


def test_control_characters_of_a_drive_do_not_reach_the_terminal() -> None:
    assert str(device(row(model="AC\x1b[2JME", serial="S\r12"))) == "/dev/sdb: AC[2JME, serial S12, 480 GB"


ROOT = row("/dev/mapper/root", "lvm", "/")
REFUSALS: dict[str, tuple[dict[str, Any], str]] = {
    "partition": (row("/dev/sdb1", "part"), "no whole drive"),
    "volume": (row("/dev/mapper/v", "lvm"), "no whole drive"),
    "array": (row("/dev/md127", "raid1"), "no whole drive"),
    "dvd": (row("/dev/sr0", "rom"), "no whole drive"),
    "mounted itself": (row(mounted="/mnt"), "/dev/sdb is mounted on /mnt; unmount it first: umount /dev/sdb"),
    "mounted partition": (row(children=[row("/dev/sdb1", "part", "/srv")]), "/dev/sdb1 is mounted on /srv"),
    "own disk": (row(children=[row("/dev/sdb2", "part", "/")]), "this host's own disk .*/dev/sdb2 is /"),
    "own disk below encryption and volumes": (
        row(children=[row("/dev/sdb3", "part", children=[row("/dev/dm-0", "crypt", children=[ROOT])])]),
        "this host's own disk .*/dev/mapper/root is /",
    ),
    "own disk below an array": (
        row(children=[row("/dev/sdb1", "part", children=[row("/dev/md0", "raid1", "/boot")])]),
        "this host's own disk",
    ),
    "own disk with more mounts": (row(mountpoints=["/srv/jail/usr", "/"]), "this host's own disk"),
    "swap": (row(children=[row("/dev/sdb4", "part", "[SWAP]")]), "this host's own disk"),
    "member of an array that is not mounted": (
        row(children=[row("/dev/sdb1", "part", children=[row("/dev/md5", "raid1")])]),
        "in use by /dev/md5; stop that first",
    ),
    "write-protected": (row(ro=True), "write-protected"),
    "large sectors": (row(**{"log-sec": 4096}), "4096-byte sectors; the image needs 512"),
    "small": (row(size=NEEDED - 1), "is 1 bytes smaller than the image; use a larger drive"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSALS)
def test_what_must_not_be_written_is_refused_with_the_reason(case: str) -> None:
    shown, words = REFUSALS[case]
    with pytest.raises(Refused, match=words):
        block_device.check(device(shown), NEEDED)


@pytest.mark.parametrize("out", ["", "{}", '{"blockdevices": []}', '{"blockdevices": [{"path": "/dev/sdb"}]}'])
def test_lsblk_that_shows_something_else_is_one_sentence(out: str) -> None:
    def run(argv: Sequence[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(argv, 32, out, "lsblk: /dev/sdb: not a block device\n")

    with pytest.raises(Failed, match="lsblk cannot read /dev/sdb: lsblk: /dev/sdb: not a block device"):
        block_device.find(Path("/dev/sdb"), run)


def test_file_and_missing_path_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    (tmp_path / "file").touch()
    for name, words in (("file", "not a block device"), ("missing", "No such file")):
        with pytest.raises(MillraceError, match=words) as error:
            block_device.find(tmp_path / name)
        assert isinstance(error.value, BadInput)
