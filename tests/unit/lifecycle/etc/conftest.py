# SPDX-License-Identifier: Apache-2.0
"""A root of its own for each test of files under /etc."""

from pathlib import Path

import pytest

from millrace.system import paths


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    return tmp_path
