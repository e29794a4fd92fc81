# SPDX-License-Identifier: Apache-2.0
"""Programs of mkosi's tools tree; the host's may be too old or missing."""

import os
import subprocess
from pathlib import Path

from millrace.system.errors import Failed


def run(tools: Path, program: str, *arguments: str, epoch: int | None = None) -> str:
    """Run `program`, a path below the tree's /usr, and return what it prints.

    With `epoch` it takes this time (seconds) for now, where it can. Failed: it fails.
    """
    libraries = tools / "usr/lib/x86_64-linux-gnu"
    argv = [str(tools / "usr/lib64/ld-linux-x86-64.so.2"), "--library-path", f"{libraries}:{libraries}/systemd"]
    argv += [str(tools / "usr" / program), *arguments]
    moment = {} if epoch is None else {"SOURCE_DATE_EPOCH": str(epoch)}
    environment = os.environ | {"TZ": "UTC", "LC_ALL": "C.UTF-8"} | moment
    done = subprocess.run(argv, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        raise Failed(f"{Path(program).name} {' '.join(arguments)} failed: {done.stderr.strip()}")
    return done.stdout
