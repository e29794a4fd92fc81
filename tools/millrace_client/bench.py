# SPDX-License-Identifier: Apache-2.0
"""Measure a Millrace server from this client.

    python3 millrace-bench.pyz --listen SERVER          as root: runs of the server drive this client, until Ctrl-C;
                                                        shows a token, which `millrace bench clients add` asks for
    python3 millrace-bench.pyz DIRECTORY                by hand, in a mounted share: writes a file for
                                                        `millrace bench clients take FILE` on the server

One file, Python 3.8 or later and fio. By hand it works in a directory of its own that it removes at the end.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import signal
import socket
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from millrace_client import VERSION, au, by_hand, kvcache, listen, sealed

if TYPE_CHECKING:
    from collections.abc import Sequence

LOADS = {"au": au.main, "kvcache": kvcache.main}
"""Loads that fio cannot make; they are programs in this file."""
LEAST = (3, 16)
"""The oldest fio whose report is understood."""


def fail(sentence: str) -> int:
    """Print an error on standard error; return the exit status."""
    print(sentence, file=sys.stderr)
    return 1


def fio_version() -> str | None:
    """Return `fio-3.41`; None where it is not installed."""
    try:
        said = subprocess.run(["fio", "--version"], stdout=subprocess.PIPE, check=False).stdout.decode().strip()
    except OSError:
        return None
    return said if said.startswith("fio-") else None


def too_old(version: str) -> bool:
    """Whether a fio is older than the oldest that will do."""
    numbers = [int(one) for one in re.findall(r"\d+", version)[:2]]
    return tuple(numbers) < LEAST


def facts(fio: str) -> dict[str, Any]:
    """Return what the server stores of this client. Memory in bytes."""
    rdma = "/sys/class/infiniband"
    return {
        "program": VERSION,
        "host": socket.gethostname(),
        "fio": fio,
        "kernel": platform.release(),
        "cpus": len(os.sched_getaffinity(0)),
        "memory": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "rdma": os.path.isdir(rdma) and bool(os.listdir(rdma)),
    }


def token_in(file: str) -> str:
    """Return the token in a file. ValueError: there is none."""
    with open(file, encoding="ascii", errors="replace") as text:
        return sealed.plain_token(text.read(100))


def main(arguments: Sequence[str]) -> int:
    """0 done, 1 refused or failed, 2 wrong usage."""
    if arguments and arguments[0] in LOADS:
        return LOADS[arguments[0]](list(arguments[1:]))
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("directory", nargs="?", help="a directory of a mounted share, which you may write")
    parser.add_argument("--listen", metavar="SERVER", help="let this server, by name or address, drive this client")
    parser.add_argument("--token-file", metavar="FILE", help="with --listen: take this token, not a new one each time")
    parser.add_argument("--output", metavar="FILE", help="where the result goes (default: millrace-bench-HOST.json)")
    given = parser.parse_args(arguments)
    if bool(given.directory) == bool(given.listen):
        parser.error("say either a directory or --listen SERVER")
    if given.token_file and not given.listen:
        parser.error("--token-file goes with --listen")
    fio = fio_version()
    if fio is None:
        return fail("fio is not installed here: apt install fio, or dnf install fio")
    if too_old(fio):
        return fail(f"{fio} is too old: {'.'.join(map(str, LEAST))} or later is needed")
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))
    try:
        if given.listen:
            token = token_in(given.token_file) if given.token_file else None
            return listen.listen(given.listen, facts(fio), token)
        output = given.output or f"millrace-bench-{socket.gethostname()}.json"
        return by_hand.measure(given.directory, output, facts(fio))
    except KeyboardInterrupt:
        return 1
    except ValueError as error:
        return fail(f"{given.token_file}: {error}")
    except OSError as error:
        return fail(f"{error.filename or 'this client'}: {error.strerror}")
