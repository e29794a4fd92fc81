# SPDX-License-Identifier: Apache-2.0
"""Put a program for clients into one file, which their Python starts as it is; the server does this."""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING

from millrace_client import source

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

THEN = (1980, 1, 1, 0, 0, 0)
"""The same program has the same bytes."""

CHECK = ("__init__.py", "check.py", "finding.py", "this_client.py", "gpu.py", "gpu_devices.py", "gpu_tools.py")
"""Files of the check, which has the list of versions with it."""
TRAPS = "gpu_traps.json"

_START = """# SPDX-License-Identifier: Apache-2.0
import sys

from millrace_client.{name} import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
"""


def pack(name: str, parts: Sequence[str], documents: Mapping[str, str]) -> bytes:
    """Return the program that starts in the module `name`, with files of this package and other texts by their paths.

    OSError: there is no such file.
    """
    out = io.BytesIO(b"#!/usr/bin/env python3\n")
    out.seek(0, io.SEEK_END)
    contents = {"__main__.py": _START.format(name=name), **documents}
    contents.update({"millrace_client/" + part: source(part) for part in parts})
    with zipfile.ZipFile(out, "a") as archive:
        for path, text in contents.items():
            archive.writestr(zipfile.ZipInfo(path, THEN), text)
    return out.getvalue()


def check(gpu: str | None = None) -> bytes:
    """Return check.pyz; `gpu` is the maker of the GPUs that it looks for without being told."""
    options = {} if gpu is None else {"millrace_client/gpu.txt": gpu}
    return pack("check", (*CHECK, TRAPS), options)
