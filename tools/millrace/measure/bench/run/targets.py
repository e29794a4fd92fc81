# SPDX-License-Identifier: Apache-2.0
"""What a rung of this server measures: device nodes that are only read, the pool's own directory, a loopback mount."""

import os
import pwd
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from millrace.measure.bench.plan.job import Target
from millrace.measure.bench.plan.steps import RungStep
from millrace.measure.bench.result.choices import BenchLayer
from millrace.measure.bench.run import loopback
from millrace.measure.bench.run.local import USER
from millrace.plan.defaults import SmbdSettings
from millrace.system import paths
from millrace.system.errors import Failed
from millrace.system.run import Runner, must

# Both ends stay as they are, where partition tables and labels are: a blank drive is blank afterwards, too.
EDGE = 64 << 20


def scratch() -> Path:
    """The directory of a run outside of the pool; it is gone with the boot."""
    return paths.run_dir() / "bench"


@contextmanager
def device_nodes(run: Runner) -> Iterator[Path]:
    """Return a directory that may hold device nodes, in the mount namespace of the unit alone."""
    where = scratch() / "dev"
    where.mkdir(parents=True, exist_ok=True)
    must(run, ["mount", "-t", "tmpfs", "-o", "mode=0755,size=1M,nosuid,noexec", "tmpfs", str(where)])
    try:
        yield where
    finally:
        run(["umount", "--lazy", str(where)])


@contextmanager
def opened(
    step: RungStep, directory: Path, nodes: Path, run: Runner, smbd: SmbdSettings | None = None
) -> Iterator[Target]:
    """Open the target of a step: `directory` is the benchmark's own in the pool, `nodes` holds device nodes.

    A step over SMB is measured with the settings `smbd`, by default those in force.

    Failed: a path is not a block device, or a loopback mount fails.
    """
    if step.devices:
        named = zip(step.names, step.devices, strict=True)
        devices = tuple((name, str(_node(nodes, device, step.work.writes))) for name, device in named)
        yield Target(devices=devices, write_devices=step.work.writes, offset=EDGE)
    elif step.layer is BenchLayer.L2:
        where = scratch() / "mnt" / step.target
        mount = partial(loopback.smb_tcp, wanted=smbd) if smbd else loopback.PROTOCOLS[step.target]
        with mount(directory, where, run) as mounted:
            yield Target(directory=mounted, mount=str(mounted))
    else:
        yield Target(directory=directory)


def _node(nodes: Path, device: str, write: bool) -> Path:
    """A node of a block device that the benchmark's user can open for reading only, unless `write`."""
    source = paths.ROOT / device.lstrip("/")
    status = os.stat(source)
    # A regular file under /dev would be measured as a drive, and written.
    if not stat.S_ISBLK(status.st_mode):
        raise Failed(f"{device} is not a block device")
    node = nodes / f"{Path(device).name}{'-w' if write else ''}"
    if not node.exists():
        mode = 0o600 if write else 0o400
        os.mknod(node, stat.S_IFBLK | mode, status.st_rdev)
        who = pwd.getpwnam(USER)
        os.chown(node, who.pw_uid, who.pw_gid)
        os.chmod(node, mode)
    return node
