# SPDX-License-Identifier: Apache-2.0
"""Devices are measured through nodes of their own that are only read, files in the benchmark's own directory."""

import os
import pwd
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from millrace.measure.bench.plan.job import Target
from millrace.measure.bench.plan.steps import RungStep, planned_steps
from millrace.measure.bench.run import export, loopback, targets
from millrace.plan.defaults import SmbdSettings
from millrace.plan.policy.model import Policy, SmbdPolicy
from millrace.plan.settings import SettingsFile, settings_of
from millrace.system import paths
from millrace.system.documents import write_model
from millrace.system.errors import Failed
from millrace.system.run import Result
from tests.unit.measure.bench.sites import request, site
from tests.unit.measure.bench.tools import Mounts, Tools
from tests.unit.plan.servers import drives_1u12, server
from tests.unit.plan.test_settings import basis

BLOCK = 0x10302


@pytest.fixture
def devices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """A server with block devices; the calls that made nodes of them."""
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    (tmp_path / "dev").mkdir()
    (tmp_path / "nodes").mkdir()
    calls: list[tuple[Any, ...]] = []
    real = os.stat

    def look(path: Any, **more: Any) -> Any:
        found = real(path, **more)
        if Path(path).parent != tmp_path / "dev" or Path(path).suffix:
            return found
        return os.stat_result((stat.S_IFBLK | 0o660, *found[1:]), {"st_rdev": BLOCK})

    def make(path: Path, mode: int, device: int) -> None:
        path.touch()
        calls.append(("mknod", path.name, mode, device))

    monkeypatch.setattr(os, "stat", look)
    monkeypatch.setattr(os, "mknod", make)
    monkeypatch.setattr(os, "chown", lambda path, *owner: calls.append(("chown", path.name, *owner)))
    monkeypatch.setattr(os, "chmod", lambda path, mode: calls.append(("chmod", path.name, mode)))
    who = pwd.struct_passwd(("x", "x", 4242, 4243, "", "/", "/bin/false"))
    monkeypatch.setattr(pwd, "getpwnam", {"millrace-bench": who}.__getitem__)
    return calls


def step(name: str, **wanted: Any) -> RungStep:
    (found,) = [one for one in planned_steps(request(**wanted), site()) if one.id == name]
    return found


def place(root: Path, of: RungStep, tools: Tools | None = None) -> Target:
    with targets.opened(of, root / "srv/pool/.millrace-bench", root / "nodes", tools or Tools()) as found:
        return found


def test_a_drive_is_measured_through_a_node_that_is_only_read(tmp_path: Path, devices: list[tuple[Any, ...]]) -> None:
    (tmp_path / "dev/nvme3n1").touch()
    of = step("L0/SN003/seq/read", mode="full", layers=["L0"], profiles=["seq"])
    node = tmp_path / "nodes/nvme3n1"
    assert place(tmp_path, of) == Target(devices=(("SN003", str(node)),), offset=64 << 20)
    made = [
        ("mknod", "nvme3n1", stat.S_IFBLK | 0o400, BLOCK),
        ("chown", "nvme3n1", 4242, 4243),
        ("chmod", "nvme3n1", 0o400),
    ]
    assert devices == made
    # the next rung has the same node
    place(tmp_path, of)
    assert devices == made


def test_a_blank_drive_that_is_written_has_another_node(tmp_path: Path, devices: list[tuple[Any, ...]]) -> None:
    (tmp_path / "dev/nvme20n1").touch()
    of = step("L0/BLANK1/seq/write", layers=["L0"], profiles=["seq"], write_drives=["BLANK1"])
    node = tmp_path / "nodes/nvme20n1-w"
    assert place(tmp_path, of) == Target(devices=(("BLANK1", str(node)),), write_devices=True, offset=64 << 20)
    assert [call[1:] for call in devices if call[0] != "chown"] == [
        ("nvme20n1-w", stat.S_IFBLK | 0o600, BLOCK),
        ("nvme20n1-w", 0o600),
    ]


def test_a_file_in_the_place_of_a_device_is_not_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/nvme20n1").touch()
    of = step("L0/BLANK1/seq/write", layers=["L0"], profiles=["seq"], write_drives=["BLANK1"])
    with pytest.raises(Failed, match=r"^/dev/nvme20n1 is not a block device$"):
        place(tmp_path, of)


def test_the_file_system_is_measured_in_the_directory_of_the_benchmark(tmp_path: Path) -> None:
    of = step("L1/xfs/seq/read", layers=["L1"], profiles=["seq"])
    assert place(tmp_path, of) == Target(directory=tmp_path / "srv/pool/.millrace-bench")


def test_a_protocol_is_measured_through_its_own_mount(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)

    @contextmanager
    def mounts(path: Path, where: Path, run: object) -> Iterator[Path]:
        assert path == tmp_path / "srv/pool/.millrace-bench" and isinstance(run, Tools)
        yield where

    monkeypatch.setitem(loopback.PROTOCOLS, "smb", mounts)
    where = tmp_path / "run/millrace/bench/mnt/smb"
    of = step("L2/smb/seq/read", layers=["L2"], profiles=["seq"])
    assert place(tmp_path, of) == Target(directory=where, mount=str(where))


def test_smb_is_measured_with_the_settings_in_force_or_with_those_of_a_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    monkeypatch.setattr(pwd, "getpwnam", lambda name: pwd.struct_passwd((name, "x", 7, 7, "", "/", "/bin/false")))
    served: list[SmbdSettings] = []

    @contextmanager
    def smbd(path: Path, state: Path, wanted: SmbdSettings, run: object) -> Iterator[Path]:
        served.append(wanted)
        yield state / "credentials"

    monkeypatch.setattr(loopback, "_smbd", smbd)
    of, tools = step("L2/smb/seq/read", layers=["L2"], profiles=["seq"]), Mounts()
    few = SmbdSettings(max_credits=512)
    with targets.opened(of, tmp_path, tmp_path, tools, few):
        pass
    place(tmp_path, of, tools)
    now = settings_of(basis(server(drives_1u12()), Policy(smbd=SmbdPolicy(max_credits=1024))))
    write_model(paths.settings_file(), SettingsFile(release="1", at="2026-11-20T12:00:00+00:00", settings=now))
    place(tmp_path, of, tools)
    assert [settings.max_credits for settings in served] == [512, 8192, 1024]
    # a new connection for each, which has the credits of its smbd
    assert len(tools.called("mount -t cifs")) == len(tools.called("umount")) == 3


def test_device_nodes_are_on_a_file_system_of_their_own_that_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    tools, where = Tools(), tmp_path / "run/millrace/bench/dev"
    with pytest.raises(KeyError), targets.device_nodes(tools) as nodes:
        assert nodes == where and nodes.is_dir()
        assert tools.calls == [["mount", "-t", "tmpfs", "-o", "mode=0755,size=1M,nosuid,noexec", "tmpfs", str(where)]]
        raise KeyError
    assert tools.calls[1:] == [["umount", "--lazy", str(where)]]
    broken = Tools({"mount": Result(32, "", "mount: permission denied")})
    with pytest.raises(Failed, match="permission denied"), targets.device_nodes(broken):
        raise AssertionError


def test_the_directory_of_the_benchmark_over_nfs_is_exported_to_this_server_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    who = pwd.struct_passwd(("x", "x", 4242, 4243, "", "/", "/bin/false"))
    monkeypatch.setattr(pwd, "getpwnam", {"millrace-bench": who}.__getitem__)
    tools, directory = Mounts(), Path("/srv/pool/.millrace-bench")
    with loopback.nfs_tcp(directory, tmp_path / "m", tools) as where:
        assert where == tmp_path / "m" and where.is_dir()
        active, export, mount = tools.calls
        assert active[-1] == "nfs-server.service"
        assert export[:2] == ["exportfs", "-o"] and export[3] == "127.0.0.1:/srv/pool/.millrace-bench"
        wanted = {"rw", "sync", "no_wdelay", "no_subtree_check", "sign_fh", "secure", "all_squash"}
        options = set(export[2].split(","))
        assert {option for option in options if not option.startswith("fsid=")} == {
            *wanted,
            "anonuid=4242",
            "anongid=4243",
        }
        assert mount[:5] == ["timeout", "120", "mount", "-t", "nfs4"]
        assert mount[-2:] == ["127.0.0.1:/srv/pool/.millrace-bench", str(where)]
        assert {"soft", "proto=tcp", "nconnect=8", "actimeo=0", "nosuid", "nodev", "noexec"} <= set(mount[6].split(","))
    assert tools.calls[3:] == [
        ["timeout", "120", "umount", str(tmp_path / "m")],
        ["exportfs", "-u", "127.0.0.1:/srv/pool/.millrace-bench"],
    ]


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("mount error(13): Permission denied\nRefer to the mount.cifs(8) manual page", r"mount error\(13\)"),
        ("mount.nfs4: access denied by server", "mount.nfs4: access denied by server"),
    ],
)
def test_a_mount_that_fails_is_one_sentence_and_leaves_no_export(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, words: str
) -> None:
    monkeypatch.setattr(pwd, "getpwnam", lambda _: pwd.getpwuid(os.getuid()))
    tools = Mounts({"mount": Result(32, "", said)})
    there = loopback.nfs_tcp(Path("/srv/pool/.millrace-bench"), tmp_path / "m", tools)
    sentence = f"^127.0.0.1:/srv/pool/.millrace-bench does not mount from this server: {words}"
    with pytest.raises(Failed, match=sentence), there:
        raise AssertionError
    assert tools.calls[-1] == ["exportfs", "-u", "127.0.0.1:/srv/pool/.millrace-bench"]


def test_a_mount_that_is_busy_is_taken_away_by_force(tmp_path: Path) -> None:
    tools = Mounts({"umount /": Result(32, "", "target is busy")})
    with loopback._mounted("nfs4", "a:/b", "soft", tmp_path / "m", tools):
        pass
    assert tools.calls[-1] == ["umount", "--force", "--lazy", str(tmp_path / "m")]


def test_without_an_nfs_server_nothing_is_exported(tmp_path: Path) -> None:
    tools = Tools({"systemctl is-active": Result(3, "", "")})
    with pytest.raises(Failed, match="the NFS server is not running"), export.exported(tmp_path, "127.0.0.1", tools):
        raise AssertionError
    assert export.release(tools) == []
    assert not tools.called("exportfs")
