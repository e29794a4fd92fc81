# SPDX-License-Identifier: Apache-2.0
"""Settings of a running NFS server; one that does not run gets them from its unit when it starts."""

import re
from dataclasses import dataclass
from pathlib import Path

from millrace.plan.defaults import BUFFERED, IoSettings
from millrace.plan.model import Nfsd
from millrace.system import paths, sysfs
from millrace.system.errors import Failed
from millrace.system.net import RDMA_LISTENER, has_rdma_device
from millrace.system.nfsd import is_serving
from millrace.system.run import Runner, last_words
from millrace.tune.knob import Knob, ListenerKnob, Setting

# Not nfsdctl itself, which would set the scope to the host name.
SET_THREADS = "/usr/lib/millrace/nfsd-threads"
RESTART = "it cannot change while the NFS server runs: systemctl restart nfs-server.service"


# fs/nfsd/debugfs.c, for all shares; not readable where the kernel is locked down.
DEBUG = "sys/kernel/debug/nfsd"
IO_MODES = (BUFFERED, "dontcache", "direct")
COPIED = f"{BUFFERED}, copied"
"""What reads are after another mode was left: pages are copied, no longer handed to the socket."""


@dataclass(frozen=True)
class IoModeKnob(Setting):
    """How nfsd reads or writes (`what`) a file: `buffered`, `dontcache` or `direct`."""

    what: str
    wanted: str
    reason: str
    default: str | None = BUFFERED

    @property
    def label(self) -> str:
        """The file that shows it."""
        return str(self._file(f"io_cache_{self.what}"))

    def read(self) -> str:
        """Return the mode, or `COPIED`.

        OSError: the kernel does not show it. ValueError: it has a mode that is not known here.
        """
        number = int(self._file(f"io_cache_{self.what}").read_text())
        if number not in range(len(IO_MODES)):
            raise ValueError(f"{self.label} has the unknown mode {number}")
        copied = number == 0 and self.what == "read" and self._file("disable-splice-read").read_text().strip() != "0"
        return COPIED if copied else IO_MODES[number]

    def write(self, value: str) -> None:
        """Set the mode. OSError: the kernel refuses."""
        if self.what == "read" and value == BUFFERED:
            # Any other mode ends the hand-over of pages, and this begins it again and sets the mode with it.
            sysfs.write(self._file("disable-splice-read"), "0\n")
        else:
            number = 0 if value == COPIED else IO_MODES.index(value)
            sysfs.write(self._file(f"io_cache_{self.what}"), f"{number}\n")

    def _file(self, name: str) -> Path:
        return paths.ROOT / DEBUG / name


@dataclass(frozen=True)
class ThreadsKnob(Setting):
    """The fewest threads of each pool and the most in all, as arguments of `nfsdctl threads`."""

    wanted: str
    reason: str
    run: Runner

    @property
    def label(self) -> str:
        """The command that shows and sets it."""
        return "nfsdctl threads"

    def read(self) -> str:
        """Return the configured threads; kernel 7.2 does not show how many run (fs/nfsd/nfsctl.c).

        Failed: nfsdctl does not list them.
        """
        result = self.run(["nfsdctl", "threads"])
        least = re.search(r"min-threads:[ \t]*(\d+)", result.out)
        pools = re.search(r"pool-threads:((?:[ \t]+\d+)+)", result.out)
        if result.status != 0 or not pools:
            raise Failed(f"nfsdctl does not report the threads: {last_words(result)}")
        return f"-m {least[1] if least else 0} {sum(map(int, pools[1].split()))}"

    def write(self, value: str) -> None:
        """Set the threads while nfsd serves. Failed: nfsd refuses."""
        result = self.run([SET_THREADS, *value.split()])
        if result.status != 0:
            raise Failed(last_words(result))


def localio_settings(nfsd: Nfsd) -> list[Setting]:
    """Return whether clients on this server go around nfsd; nothing until the kernel has loaded its NFS client.

    That one gets it from modprobe.d.
    """
    path = paths.ROOT / "sys/module/nfs/parameters/localio_enabled"
    wanted = "Y" if nfsd.localio else "N"
    reason = "NFS clients on the server itself go around nfsd, or the policy has switched that off"
    return [Knob(path, wanted, reason, default="Y")] if path.exists() else []


def io_settings(wanted: IoSettings) -> list[Setting]:
    """Return the I/O modes that are not left to the kernel, while nfsd serves: its module has them."""
    modes = {"read": wanted.read, "write": wanted.write} if is_serving() else {}
    return [IoModeKnob(what, mode, "set by the policy") for what, mode in modes.items() if mode is not None]


def nfsd_settings(nfsd: Nfsd, run: Runner) -> list[Setting]:
    """Return threads and listeners, which are set, and pool mode and block size, which are only compared."""
    directory = paths.ROOT / "proc/fs/nfsd"
    if not is_serving():
        return []
    settings: list[Setting] = [
        Knob(
            paths.ROOT / "sys/module/sunrpc/parameters/pool_mode",
            nfsd.pool_mode,
            "one thread pool per NUMA node, or one for all",
            deferred=RESTART,
        ),
        Knob(directory / "max_block_size", str(nfsd.max_block_size), "maximum request size", deferred=RESTART),
        ThreadsKnob(
            f"-m {nfsd.threads_min} {nfsd.threads_max}", "threads for the cores on the nodes of the ports", run
        ),
    ]
    if has_rdma_device():
        # nfsd that started before its RDMA device appeared listens on TCP only.
        reason = "an RDMA device is present, but nfsd does not use it"
        settings.append(ListenerKnob(directory / "portlist", RDMA_LISTENER, reason))
    return settings
