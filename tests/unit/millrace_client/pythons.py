# SPDX-License-Identifier: Apache-2.0
"""The oldest Python of this host that clients may have: 3.8, where it is installed beside the host's own."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

OLDEST = (3, 8)


def _installed() -> Iterator[str]:
    """Interpreters, the oldest version first: on PATH, and those that pyenv built but has not activated."""
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for minor in range(OLDEST[1], sys.version_info.minor):
        name = f"python3.{minor}"
        yield from map(str, sorted(versions.glob(f"3.{minor}.*/bin/{name}")))
        on_path = shutil.which(name)
        if on_path:
            yield on_path


def _works(program: str) -> bool:
    """Whether it is Python: on PATH there may be a stub that says where to get one."""
    return subprocess.run([program, "-I", "-c", ""], capture_output=True, check=False).returncode == 0


@cache
def oldest() -> str:
    """Return the path of the oldest interpreter that clients may have; that of the tests where none is older."""
    return next((one for one in _installed() if _works(one)), sys.executable)


@cache
def version() -> str:
    """Return what it is: `Python 3.8.18`."""
    asked = [oldest(), "--version"]
    return subprocess.run(asked, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
