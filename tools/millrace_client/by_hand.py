# SPDX-License-Identifier: Apache-2.0
"""The benchmark by hand: part of the program that runs on clients, Python 3.8 and nothing else.

The steps came with the program (plan.json, made by the server); fio's output goes into one file. It works in a
directory of its own inside the named one, and removes it in any case.

Other clients have the same share mounted: nothing that they put there is followed, and fio has its jobs from here and
not from a file there, for a job may name a program to be executed (fio(1): exec_prerun).
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager

PLACE = "@DIRECTORY@"
"""Stands for the directory in the jobs of the plan."""
PREFIX = ".millrace-bench-"
FIO = ("fio", "--output-format=json+", "-")
"""fio, with its job on standard input."""
ROOM = 1.25
"""Times the size of all files that must be free."""


class Wrong(Exception):
    """What prevents the measurement, in one sentence."""


def measure(directory: str, output: str, facts: dict[str, Any]) -> int:
    """Measure everything in the plan; the result file is written completely or not at all."""
    with zipfile.ZipFile(sys.argv[0]) as program:
        plan = json.loads(program.read("plan.json"))
    try:
        mount = mounted(directory, Path("/proc/self/mounts").read_text())
        room(directory, plan["space"])
        if not os.access(os.path.dirname(os.path.abspath(output)), os.W_OK):
            raise Wrong(f"{output} cannot be written: name another file with --output")
        begin = time.time()
        where = tempfile.mkdtemp(prefix=PREFIX, dir=directory)
        try:
            rungs = [rung(rung_plan, where, plan["repeats"]) for rung_plan in plan["rungs"]]
        finally:
            shutil.rmtree(where, ignore_errors=True)
    except Wrong as error:
        print(error, file=sys.stderr)
        return 1
    said = {
        "plan": plan["sha256"],
        "model": plan["model"],
        "facts": facts,
        "mount": mount,
        "started": begin,
        "ended": time.time(),
    }
    # a new file under a name that cannot be guessed
    place = os.path.dirname(os.path.abspath(output))
    with tempfile.TemporaryDirectory(prefix=PREFIX, dir=place) as own:
        part = os.path.join(own, "result")
        with open(part, "x") as file:
            json.dump({**said, "rungs": rungs}, file)
        os.replace(part, output)
    done = sum(measured_rung["error"] is None for measured_rung in rungs)
    print(f"{done} of {len(rungs)} workloads are measured; on the server: millrace bench clients take {output}")
    return 0 if done == len(rungs) else 1


def mounted(directory: str, table: str) -> dict[str, str]:
    """Return protocol, source and options of the mount that a directory is in; `table` is /proc/self/mounts.

    Wrong: it is not a directory, or in no mount of NFS or SMB.
    """
    here = os.path.realpath(directory)
    if not os.path.isdir(here):
        raise Wrong(f"{directory} is not a directory")
    mount = {"where": "", "type": ""}
    for line in table.splitlines():
        source, where, kind, options = line.split()[:4]
        where = where.replace("\\040", " ")
        inside = here == where or here.startswith(where.rstrip("/") + "/")
        if inside and len(where) >= len(mount["where"]):
            mount = {"source": source, "where": where, "type": kind, "options": options}
    rdma = "proto=rdma" in mount.get("options", "").split(",")
    targets = {"nfs4": "nfs-rdma" if rdma else "nfs-tcp", "nfs": "nfs-rdma" if rdma else "nfs-tcp", "cifs": "smb"}
    if mount["type"] not in targets:
        raise Wrong(f"{directory} is not in a share of a server: mount one (`millrace client recipe`), then name it")
    return {**mount, "target": targets[mount["type"]]}


def room(directory: str, needed: int) -> None:
    """Verify that `needed` bytes fit into a directory. Wrong: they do not, or the user may not write there."""
    space = os.statvfs(directory)
    free = space.f_bavail * space.f_frsize
    if needed * ROOM > free:
        sentence = f"{needed >> 20} MiB do not fit into the {free >> 20} MiB that are free in {directory}"
        raise Wrong(f"{sentence}: make the program for less (`millrace client bench --size`)")
    if not os.access(directory, os.W_OK):
        raise Wrong(f"{directory} cannot be written by you")


def rung(plan: dict[str, Any], where: str, repeats: int) -> dict[str, Any]:
    """Measure one workload; return the output of each repeat, or why there is none."""
    print(f"{plan['profile']} {plan['operation']} ...", flush=True)
    begin, raw, error = time.monotonic(), [], None
    try:
        files = Inside(where, plan["layout"])
        if plan["lay_out"] and not files.names():
            run(FIO, local(plan["lay_out"], where))
        # the program's own loads leave their beginning out by themselves
        jobs = [plan["warm"]] * (plan["own"] is None) + [plan["job"]] * repeats
        for job in jobs:
            ready(plan, files)
            own = plan["own"] and [
                sys.executable,
                sys.argv[0],
                *(argument.replace(PLACE, where) for argument in plan["own"]),
            ]
            raw.append(run(own) if own else run(FIO, local(job, where)))
        raw = raw[-repeats:]
    except (Wrong, OSError) as problem:
        error = str(problem)
        print(f"  {error}", file=sys.stderr)
    known = {name: plan[name] for name in ("id", "jobs", "scaled")}
    size = plan["jobs"] * plan["per_job"] * plan["size"]
    return {**known, "size": size, "raw": raw, "error": error, "seconds": time.monotonic() - begin}


class Inside:
    """A directory below the program's own, made where it is not there; entered again each time, never by a link."""

    def __init__(self, where: str, name: str) -> None:
        self._where, self._name = where, name
        with self._parent() as parent, contextlib.suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=parent)

    def names(self) -> list[str]:
        """Return the names in it."""
        with self.opened() as here:
            return os.listdir(here)

    def empty(self) -> None:
        """Replace it by an empty one."""
        with self._parent() as parent, self.opened() as here:
            for name in os.listdir(here):
                os.unlink(name, dir_fd=here)
            os.rmdir(self._name, dir_fd=parent)
            os.mkdir(self._name, 0o700, dir_fd=parent)

    @contextlib.contextmanager
    def opened(self) -> Iterator[int]:
        """Return its descriptor. OSError: it is no directory any more."""
        with self._parent() as parent, entered(self._name, parent) as here:
            yield here

    def _parent(self) -> AbstractContextManager[int]:
        return entered(self._where)


@contextlib.contextmanager
def entered(name: str, parent: int | None = None) -> Iterator[int]:
    """Open a directory that is no link, below the descriptor `parent`; its descriptor."""
    descriptor = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def ready(plan: dict[str, Any], files: Inside) -> None:
    """Prepare a repeat: create or remove files as its plan says, drop what it reads from this client's cache."""
    if plan["before"] == "empty":
        files.empty()
        return
    with files.opened() as here:
        if plan["before"] == "small":
            for number in range(plan["jobs"]):
                for file_number in range(plan["per_job"]):
                    small(f"f.{number}.{file_number}", plan["size"], here)
            return
        for name in os.listdir(here):
            if not name.startswith("f."):
                continue
            if plan["before"] == "gone":
                os.unlink(name, dir_fd=here)
            else:
                forget(name, here)


def small(name: str, size: int, here: int) -> None:
    """Create a file of `size` zero bytes in the directory descriptor `here`; an existing one stays."""
    try:
        descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=here)
    except FileExistsError:
        return
    with os.fdopen(descriptor, "wb") as file:
        file.write(bytes(size))


def forget(name: str, here: int) -> None:
    """Drop this client's cache of a file in the directory descriptor `here`. A pipe in its place is not waited for."""
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=here)
    except OSError:
        return
    try:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)


def local(job: str, where: str) -> str:
    """Return a job of the plan for this directory; a colon would end a directory's name."""
    return job.replace(PLACE, where.replace(":", "\\:"))


def run(argv: Sequence[str], stdin: str = "") -> dict[str, Any]:
    """Run a load; return the last document that it printed. Wrong: it failed."""
    done = subprocess.run(list(argv), input=stdin.encode(), capture_output=True, check=False)
    said, place, decoder = done.stdout.decode("utf-8", "replace"), 0, json.JSONDecoder()
    document: dict[str, Any] = {}
    while True:
        place = said.find("{", place)
        if place < 0:
            break
        try:
            document, place = decoder.raw_decode(said, place)
        except ValueError:
            break
    if done.returncode or any(job.get("error") for job in document.get("jobs", [])):
        complaint = done.stderr.decode("utf-8", "replace").strip().splitlines() or [f"status {done.returncode}"]
        raise Wrong(complaint[0])
    return document
