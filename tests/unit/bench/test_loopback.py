# SPDX-License-Identifier: Apache-2.0
"""The second SMB server of a run."""

from collections.abc import Sequence
from pathlib import Path

from millrace.bench.run import loopback


def test_the_second_smbd_keeps_everything_in_its_own_place(pool: Path, tmp_path: Path) -> None:
    text = loopback.smbd_configuration(pool / ".millrace-bench", tmp_path / "smb")
    after = text.rpartition("[global]")[2]
    lines: Sequence[str] = after.strip().splitlines()
    own = dict(line.split(" = ", 1) for line in lines)
    for name in loopback.DIRECTORIES:
        assert own[name].startswith(str(tmp_path / "smb")), name
    assert own["passdb backend"].startswith(f"tdbsam:{tmp_path}/smb")
    assert "hosts allow = 127.0.0.1 ::1\n" in text
    assert f"valid users = {loopback.USER} " in text
