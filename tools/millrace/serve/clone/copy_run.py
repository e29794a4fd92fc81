# SPDX-License-Identifier: Apache-2.0
"""Copy what another server exports into a share of this one.

The export is mounted read-only where no other process sees it. It is gone with this process.
"""

import errno
import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from ipaddress import ip_address
from pathlib import Path

from millrace.serve.clone import copy_tree
from millrace.serve.clone.clone_place import ClonePlace, opened, parse, refuse_snapshot
from millrace.serve.clone.copy_model import CopyLine, CopyProgress, CopyReport
from millrace.serve.config import store
from millrace.serve.share.server import ShareServer
from millrace.system import paths
from millrace.system.command import command
from millrace.system.errors import BadInput, Failed, Refused
from millrace.system.files import describe
from millrace.system.run import Runner, attempt, last_words, must, within
from millrace.system.text import shown
from millrace.system.trees import nofollow
from millrace.system.users import only_root

# softerr: a server that vanishes ends the copy in three minutes, and does not leave a process that cannot be killed.
OPTIONS = "vers=4.2,proto=tcp,ro,nosuid,nodev,noexec,softerr,timeo=300,retrans=3,retry=0"
PATIENCE = 60.0
"""Seconds for a mount."""
POLL = 1.0
"""Seconds between two lines of progress."""


class CopyStopped(Exception):
    """The copy is to end."""


@dataclass(frozen=True)
class RemoteExport:
    """A directory that another server exports."""

    server: str
    path: str

    def __str__(self) -> str:
        host = f"[{self.server}]" if ":" in self.server else self.server
        return f"{host}:{self.path}"


def parse_export(text: str) -> RemoteExport:
    """Parse `ADDRESS:/path`, an IPv6 address in brackets. BadInput: it is neither."""
    host, colon, path = text.partition("]:" if text.startswith("[") else ":")
    try:
        address = str(ip_address(host.removeprefix("[")))
    except ValueError as error:
        raise BadInput(f"{shown(text)} is not an export: write it like 10.0.0.7:/srv/pool/data") from error
    if not colon or not path.startswith("/") or ".." in path.split("/") or not path.isprintable():
        raise BadInput(f"{shown(text)} is not an export: write it like 10.0.0.7:/srv/pool/data")
    return RemoteExport(address, path)


def prepare(source: str, target: str, server: ShareServer) -> tuple[RemoteExport, ClonePlace]:
    """Verify that the policy names the source and that the target is a writable share.

    Refused: it is not. BadInput: one is no place.
    """
    only_root()
    export, place = parse_export(source), parse(target)
    refuse_snapshot(place)
    if export.server in {str(address.ip) for port in server.ports for address in port.addresses}:
        raise Refused(f"{export.server} is this server: millrace share clone copies inside of it")
    if export.server not in server.nfsd.copy_from:
        raise Refused(
            f"the policy does not name {export.server} as a server to copy from: add it to copy_from in [nfs] of "
            f"{paths.policy_file()}, then: millrace tune"
        )
    share = store.load().share(place.share)
    if share is None:
        raise Refused(f"share {place.share} does not exist: {command('millrace share create', place.share)}")
    if share.sealed:
        raise Refused(f"share {place.share} is sealed: {command('millrace share unseal', place.share)}")
    return export, place


def copy(export: RemoteExport, place: ClonePlace, order: str, server: ShareServer) -> Iterator[CopyLine]:
    """Copy, and yield the progress once a second, then what was done for the order of this ID.

    Refused, Failed: why it ended; run it again.
    """
    with (
        opened(place, server.pool.filesystem.mountpoint) as target,
        mounted(export, paths.run_dir() / "copy/source", OPTIONS, server.run) as source,
    ):
        yield from _followed(export, place, order, source, target)


def _followed(export: RemoteExport, place: ClonePlace, order: str, source: int, target: int) -> Iterator[CopyLine]:
    stop = threading.Event()

    def tick() -> None:
        if stop.is_set():
            raise CopyStopped

    work = copy_tree.TreeCopy(source, target, tick)
    total = copy_tree.Copied()
    with ThreadPoolExecutor(1) as pool:
        try:
            counted = pool.submit(copy_tree.count, source, tick, total)
            counted.result()
            began, running = time.monotonic(), pool.submit(work.run)
            while not running.done():
                wait([running], POLL)
                yield _progress(work.done, total, time.monotonic() - began)
            done = running.result()
        except OSError as error:
            raise Failed(_sentence(error, export, place)) from error
        finally:
            stop.set()
    yield CopyReport(id=order, source=str(export), target=str(place), **asdict(done))


def _progress(done: copy_tree.Copied, total: copy_tree.Copied, seconds: float) -> CopyProgress:
    rate = int(done.bytes / seconds) if seconds else 0
    left = max(total.bytes - done.bytes, 0)
    return CopyProgress(
        entries=done.entries,
        bytes=done.bytes,
        total_entries=max(total.entries, done.entries),
        total_bytes=max(total.bytes, done.bytes),
        rate=rate,
        seconds_left=round(left / rate) if rate else None,
    )


def _sentence(error: OSError, export: RemoteExport, place: ClonePlace) -> str:
    again = "run the same command again: it goes on where it was"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        larger = command("millrace share set", place.share, options=["--size SIZE"])
        return f"share {place.share} is full: raise its limit ({larger}) or free space, then {again}"
    if error.errno == errno.EROFS:
        return f"the pool is read-only: millrace health shows the reason; then {again}"
    if error.errno in (errno.ETIMEDOUT, errno.EIO, errno.ESTALE, errno.ECONNREFUSED):
        return f"{export} does not answer any more ({error.strerror}): verify that server, then {again}"
    return f"{describe(error)}; then {again}"


@contextmanager
def mounted(export: RemoteExport, where: Path, options: str, run: Runner) -> Iterator[int]:
    """Mount what another server exports where this process alone sees it, and open it.

    Failed: it is not mounted, and why.
    """
    where.mkdir(mode=0o700, parents=True, exist_ok=True)
    # what is mounted from here on is this process's alone, and gone with it
    os.unshare(os.CLONE_NEWNS)  # type: ignore[attr-defined,unused-ignore]  # the tools' Python may be older
    must(run, ["mount", "--make-rprivate", "/"])
    mount = within(PATIENCE) if run is attempt else run
    ended = mount(["mount", "-t", "nfs4", "-o", options, str(export), str(where)])
    if ended.status != 0:
        raise Failed(
            f"{export} is not mounted ({last_words(ended)}): that server must export this directory to this one, and "
            "the firewall of this one must know it: millrace tune"
        )
    try:
        with nofollow.directory(where) as descriptor:
            yield descriptor
    finally:
        run(["umount", "--lazy", str(where)])
