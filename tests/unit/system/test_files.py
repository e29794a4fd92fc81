# SPDX-License-Identifier: Apache-2.0
"""Files are written completely or not at all, and secrets do not stay."""

import stat
from pathlib import Path

import pytest

from millrace import paths
from millrace.system.files import secret_file


def test_secret_file_is_for_root_alone_and_goes_also_after_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    with pytest.raises(ValueError, match="seen"), secret_file("password = x\n", "smbpasswd-") as name:
        found = Path(name)
        assert found.parent == paths.run_dir() and found.name.startswith("smbpasswd-")
        assert found.read_text() == "password = x\n"
        assert stat.S_IMODE(found.stat().st_mode) == 0o600
        raise ValueError("seen")
    assert list(paths.run_dir().iterdir()) == []
