# SPDX-License-Identifier: Apache-2.0
"""Programs that run on clients: Python 3.8 and its standard library, nothing to install.

`check` verifies a mount, with `gpu` also the way into GPUs; `millrace client check-script` prints it as one file. The
rest is the benchmark's program for clients, which `millrace client bench` writes as one file: `bench` reads the command
line, `listen` lets a server drive the client, `by_hand` measures in a mounted share, `au` and `kvcache` are loads that
fio cannot make (the server runs them, too). `pack` puts each together, on the server.
"""

from __future__ import annotations

from pathlib import Path

VERSION = 3
"""Of what client and server say to each other, and of the file that a measurement by hand writes."""


def source(name: str) -> str:
    """Return the text of one of these files, such as `check.py`; OSError where there is none."""
    return Path(__file__).with_name(name).read_text()
