# SPDX-License-Identifier: Apache-2.0
"""All sources, each in a process of its own with a deadline: one that fails or hangs is reported, the others go on."""

import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from millrace.errors import MillraceError
from millrace.metrics.family import Family, Sample, exposition, gauge
from millrace.metrics.sources import drives, nfs, pool, ports, server, smb
from millrace.system.text import one_line

Source = Callable[[], list[Family]]

SOURCES: Mapping[str, Source] = {
    "build": server.build_families,
    "health": server.health_families,
    "drives": drives.families,
    "arrays": pool.array_families,
    "filesystem": pool.filesystem_families,
    "shares": pool.share_families,
    "nfs": nfs.families,
    "smb": smb.families,
    "ports": ports.port_families,
    "rdma": ports.rdma_families,
    "benchmark": server.benchmark_families,
}

# For all sources together. A tool that a source runs has 20 s (system.run.quickly).
SECONDS = 25.0
_CHUNK = 1 << 16


@dataclass
class Child:
    """A source under way: its process, the pipe with what it found, and how long it took."""

    pid: int
    pipe: int
    found: bytes = b""
    seconds: float = 0.0
    ended: bool = False


def collect(sources: Mapping[str, Source] = SOURCES, seconds: float = SECONDS) -> str:
    """Return the metrics of this server as OpenMetrics text, within `seconds`."""
    began = time.monotonic()
    # What a child would flush once more.
    sys.stdout.flush()
    sys.stderr.flush()
    children = {name: _begin(name, source) for name, source in sources.items()}
    _read(children, began, seconds)
    families: list[Family] = []
    up = {}
    for name, child in children.items():
        found = _ended(child)
        up[name] = found is not None
        families += found or []
    named = [(child, {"source": name}) for name, child in children.items()]
    return exposition(
        [
            *families,
            gauge(
                "scrape_source_up",
                "Whether a source of metrics answered.",
                *((up[name], {"source": name}) for name in children),
            ),
            gauge(
                "scrape_source_duration_seconds",
                "Time that a source of metrics took.",
                *((round(child.seconds, 3), labels) for child, labels in named),
            ),
            gauge("scrape_timestamp_seconds", "Time at which these metrics were collected.", (time.time(), {})),
        ]
    )


def _begin(name: str, source: Source) -> Child:
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        _run(name, source, write)
    os.close(write)
    return Child(pid, read)


def _run(name: str, source: Source, pipe: int) -> None:
    """The child: writes what it found, or says why there is nothing, and ends."""
    status = 1
    try:
        found = json.dumps([asdict(one) for one in source()]).encode()
        while found:
            found = found[os.write(pipe, found) :]
        status = 0
    except (MillraceError, OSError, ValueError) as error:
        _log(name, str(error))
    except BaseException as error:
        # A fault of the program: the other sources are of use all the same.
        _log(name, repr(error))
    finally:
        os._exit(status)


def _read(children: Mapping[str, Child], began: float, seconds: float) -> None:
    """Read all pipes until they end, or the time is over."""
    waiting = {child.pipe: child for child in children.values()}
    while waiting and (left := began + seconds - time.monotonic()) > 0:
        for pipe in select.select(list(waiting), [], [], left)[0]:
            child = waiting[pipe]
            chunk = os.read(pipe, _CHUNK)
            child.found += chunk
            if not chunk:
                child.seconds, child.ended = time.monotonic() - began, True
                del waiting[pipe]
    for child in waiting.values():
        child.seconds = time.monotonic() - began


def _ended(child: Child) -> list[Family] | None:
    """What a source found; None where it failed or did not end. One that hangs in the kernel is left behind."""
    os.close(child.pipe)
    if not child.ended:
        with suppress(ProcessLookupError):
            os.kill(child.pid, signal.SIGKILL)
        os.waitpid(child.pid, os.WNOHANG)
        return None
    status = os.waitstatus_to_exitcode(os.waitpid(child.pid, 0)[1])
    return None if status else [_family(one) for one in json.loads(child.found)]


def _family(found: dict[str, Any]) -> Family:
    return Family(**{**found, "samples": [Sample(**one) for one in found["samples"]]})


def _log(name: str, sentence: str) -> None:
    print(f"millrace: no metrics of {name}: {one_line(sentence)}", file=sys.stderr, flush=True)
