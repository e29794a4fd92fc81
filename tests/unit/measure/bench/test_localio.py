# SPDX-License-Identifier: Apache-2.0
"""What measures nfsd is without LOCALIO, and what measures LOCALIO is sure to have it."""

import os
import pwd
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from millrace.measure.bench.run import localio, loopback
from millrace.system import paths
from millrace.system.errors import Failed
from millrace.system.run import Result
from tests.fakes.mounts import mount
from tests.unit.measure.bench.tools import Tools

RELEASE = "7.2.12+deb14-amd64"


class Kernel(Tools):
    """A kernel with LOCALIO, whose client is loaded by the first mount; `at_mounts` is what was set at each mount."""

    TAKEN = (*Tools.TAKEN, "mount -t nfs4 -o * * *", "umount *")

    def __init__(self, root: Path, used: str = "1") -> None:
        super().__init__()
        self.root, self.used = root, used
        self.at_mounts: list[str] = []
        modules = root / "usr/lib/modules" / RELEASE / "modules.dep"
        modules.parent.mkdir(parents=True)
        modules.write_text("updates/millrace/fs/nfs_common/nfs_localio.ko.xz:\n")
        (root / "proc/sys/kernel").mkdir(parents=True)
        (root / "proc/sys/kernel/osrelease").write_text(RELEASE)

    @property
    def switch(self) -> Path:
        """The parameter of the module nfs."""
        return self.root / "sys/module/nfs/parameters/localio_enabled"

    def __call__(self, argv: Sequence[str], stdin: str | None = None) -> Result:
        if "mount" in argv:
            if not self.switch.exists():
                self.switch.parent.mkdir(parents=True)
                self.switch.write_text("Y\n")
            used = self.root / "sys/fs/nfs/0:47/localio"
            used.parent.mkdir(parents=True, exist_ok=True)
            used.write_text(f"{self.used}\n")
            self.at_mounts.append(self.switch.read_text().strip())
        return super().__call__(argv, stdin)


@pytest.fixture(autouse=True)
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    monkeypatch.setattr(pwd, "getpwnam", lambda _: pwd.getpwuid(os.getuid()))
    monkeypatch.setattr(localio, "PAUSES", ())
    mount(tmp_path, "/dev/md127", "/srv/pool", "xfs")
    (paths.run_dir() / "bench").mkdir(parents=True)


def over_tcp(kernel: Kernel, where: Path) -> AbstractContextManager[Path]:
    return loopback.nfs_tcp(Path("/srv/pool/.millrace-bench"), where, kernel)


def locally(kernel: Kernel, where: Path) -> AbstractContextManager[Path]:
    return loopback.nfs_local(Path("/srv/pool/.millrace-bench"), where, kernel)


def test_nfsd_is_measured_without_localio(tmp_path: Path) -> None:
    kernel = Kernel(tmp_path)
    with over_tcp(kernel, tmp_path / "m"):
        # a mount that loaded the client, and the one that is measured
        assert (kernel.at_mounts, kernel.switch.read_text()) == (["Y", "N"], "N\n")
    assert kernel.switch.read_text() == "Y\n"
    assert not (paths.run_dir() / "bench/localio").exists()


def test_localio_is_measured_where_an_administrator_switched_it_off(tmp_path: Path) -> None:
    kernel = Kernel(tmp_path)
    kernel.switch.parent.mkdir(parents=True)
    kernel.switch.write_text("N\n")
    with locally(kernel, tmp_path / "m"):
        assert kernel.at_mounts == ["Y"]
        assert (paths.run_dir() / "bench/localio").read_text() == "N\n"
    assert kernel.switch.read_text() == "N\n"


def test_mount_that_does_not_use_localio_is_not_measured_as_such(tmp_path: Path) -> None:
    kernel = Kernel(tmp_path, used="0")
    with pytest.raises(Failed, match="does not use LOCALIO"), locally(kernel, tmp_path / "m"):
        raise AssertionError
    assert kernel.calls[-2:] == [
        ["timeout", "120", "umount", str(tmp_path / "m")],
        ["exportfs", "-u", "127.0.0.1:/srv/pool/.millrace-bench"],
    ]


def test_kernel_without_localio_is_mounted_once(tmp_path: Path) -> None:
    with localio.switched(False):
        assert not localio.needs_client()
        assert localio.restore() is False
