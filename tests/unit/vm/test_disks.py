# SPDX-License-Identifier: Apache-2.0
"""What is made for a machine before it starts."""

from pathlib import Path

from vm.disks import empty_logs
from vm.qemu import Files
from vm.server import find

SERVER = find("5equal", Path(__file__).parents[2] / "servers")


def test_log_of_an_earlier_start_is_emptied(tmp_path: Path) -> None:
    files = Files(tmp_path, tmp_path)
    first = files.log(SERVER.drives[0].serial)
    first.write_bytes(b"entries")
    empty_logs(SERVER, files)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        f"{drive.serial}.log": b"" for drive in SERVER.drives
    }
