# SPDX-License-Identifier: Apache-2.0
"""What `millrace volume` prints: volumes that are served, not served and not exported, and each change of one."""

import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from uuid import UUID

import pytest

from millrace.serve.share.server import ShareServer
from millrace.serve.volume import edit
from millrace.serve.volume.serve import Volumes
from millrace.system import paths
from millrace.system.run import Result
from tests.fakes.files.running import Clock
from tests.fakes.samples import port
from tests.fakes.tools import stand_in
from tests.unit.plugin.week import DIRECTORY, said
from tests.unit.serve.volume.conftest import HOST, OTHER, Nas
from tests.unit.serve.volume.test_edit import SECRET

TB = 10**12
# Bytes; the files are sparse, so that the host of a test needs none of them.
POOL = 60 * TB
EDITS = ("create", "resize", "clone", "export_volume", "detach", "remove")
PORTS = (port("enp1s0", "10.0.0.2/24"), port("enp2s0", "10.0.1.2/24"))


class Large(Nas):
    """A server with a large pool, whose files take no space."""

    def server(self, *networks: str) -> ShareServer:
        """This server, with two ports."""
        return replace(super().server(*networks), ports=PORTS)

    def volumes(self) -> Volumes:
        """The volumes of this server; a file is as long as its volume and holds nothing."""
        xfs = replace(self.xfs, allocate=lambda descriptor, _, size: os.ftruncate(descriptor, size), share=_as_long)
        return replace(super().volumes(), xfs=xfs)


def documents() -> dict[str, str]:
    """The text of every document by its path below the golden files."""
    with tempfile.TemporaryDirectory(prefix="millrace-volumes-") as directory, pytest.MonkeyPatch.context() as patch:
        patch.setattr(paths, "ROOT", Path(directory))
        patch.setenv("SUDO_USER", "admin")
        patch.setattr("os.geteuid", lambda: 0)
        for change in ("os.chown", "os.fchown", "os.fsync"):
            patch.setattr(change, lambda *arguments: None)
        patch.setattr("millrace.serve.volume.edit.datetime", Clock)
        patch.setattr("millrace.serve.volume.edit.uuid4", _numbered())
        patch.setattr("millrace.serve.volume.edit._free", lambda volumes: POOL)
        patch.setattr("millrace.serve.volume.carrier.allocated", lambda path: path.stat().st_size)
        nas = Large(Path(directory))
        (paths.ROOT / "sys/class/infiniband/mlx5_0").mkdir(parents=True)
        nas.broken["rdma"] = Result(0, "[]", "")
        stand_in(patch, nas)
        patch.setattr("millrace.serve.volume.serve.this_volumes", nas.volumes)
        for name in EDITS:
            patch.setattr(edit, name, partial(getattr(edit, name), this=nas.volumes))
        return {f"{DIRECTORY}/{name}": text for name, text in _printed(nas)}


def _printed(nas: Large) -> Iterator[tuple[str, str]]:
    yield "volume-list.empty.json", said("volume", "list")
    words = ("--size=10T", "--export=tcp", f"--host={HOST}", "--address=10.0.0.9", "--dhchap-stdin")
    yield "volume-create.json", said("volume", "create", "tank", *words, stdin=f"{SECRET}\n")
    yield "volume-clone.json", said("volume", "clone", "tank", "tank-2")
    both = (f"--host={HOST}", f"--host={OTHER}", "--shared", "--address=10.0.0.0/28")
    said("volume", "create", "scratch", "--size=500G", "--export=rdma", *both)
    yield "volume-resize.json", said("volume", "resize", "scratch", "--size=2T")
    nas.connect(4420)
    _take_ports(nas, 3)
    yield "volume-list.json", said("volume", "list")
    nas.connect()
    yield "volume-export.json", said("volume", "export", "tank-2", f"--host={OTHER}", "--address=10.0.0.9")
    yield "volume-detach.json", said("volume", "detach", "tank-2")
    yield "volume-remove.json", said("volume", "remove", "tank-2", "--delete-data=tank-2")


def _take_ports(nas: Large, number: int) -> None:
    """Take a volume off every port, as an administrator of the kernel's target might."""
    for place in [one for one in nas.tree.links if one.startswith("ports/") and one.endswith(f":{UUID(int=number)}")]:
        nas.tree.unlink(place)


def _as_long(source: int, target: int) -> None:
    os.ftruncate(target, os.fstat(source).st_size)


def _numbered() -> Callable[[], UUID]:
    numbers = count(1)
    return lambda: UUID(int=next(numbers))
