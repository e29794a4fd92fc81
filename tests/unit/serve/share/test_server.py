# SPDX-License-Identifier: Apache-2.0
"""Rendering writes and reloads only what changed; a bad smb.conf replaces nothing."""

import stat
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from millrace.plan.defaults import SmbdSettings
from millrace.serve.config import store
from millrace.serve.config.model import Config, first_config
from millrace.serve.share import smb
from millrace.serve.share.model import RenderReport
from millrace.serve.share.server import ShareServer
from millrace.system import paths, posix_acl
from millrace.system.errors import Failed
from millrace.system.net import Interface
from millrace.system.run import Result
from tests.fakes import read_only
from tests.fakes.mounts import unmount_all
from tests.fakes.samples import Tools, plan, pool, port, surroundings
from tests.fakes.sockets import listen

PORTS = [port("enp1s0", "10.0.0.2/24")]
STOPPED = {"systemctl is-active": Result(3, "", "")}


def apply(
    tools: Tools,
    ports: Sequence[Interface] = PORTS,
    config: Config | None = None,
    smbd: SmbdSettings = smb.DEFAULTS,
) -> RenderReport:
    """Render on a server with these ports and no client networks in its policy."""
    context = replace(surroundings([]), ports=ports)
    return ShareServer(plan().nfsd, pool(), context, ports, tools, smbd=smbd).apply(config or first_config())


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    (tmp_path / "srv/pool").mkdir(parents=True)
    unmount_all(tmp_path)
    listen(tmp_path, "0.0.0.0:2049", "10.0.0.2:445")
    return tmp_path


def test_at_boot_the_files_are_written_before_the_servers_start(server: Path) -> None:
    tools = Tools(STOPPED)
    report = apply(tools)
    assert sorted(report.changed) == [
        "/etc/exports.d/millrace.exports",
        "/etc/nfs.conf.d/millrace.conf",
        "/etc/projects",
        "/etc/projid",
        "/etc/samba/smb.conf",
        "/etc/tlshd/config",
        "/run/millrace/nfsd.env",
        "/var/lib/millrace/nfs-handles.key",
    ]
    assert report.reloaded == []
    assert not tools.called("smbcontrol") and not tools.called("exportfs")


def test_everyone_may_write_everything_in_the_share_of_a_new_server(server: Path) -> None:
    apply(Tools(STOPPED))
    assert stat.S_IMODE((server / "srv/pool/data").stat().st_mode) == 0o777
    assert posix_acl.read(str(server / "srv/pool/data"), posix_acl.DEFAULT) == posix_acl.encode(0o777)


def test_the_mode_that_users_gave_a_share_stays(server: Path) -> None:
    (server / "srv/pool/data").mkdir(0o750)
    apply(Tools(STOPPED))
    assert stat.S_IMODE((server / "srv/pool/data").stat().st_mode) == 0o750


def test_a_file_in_the_way_of_a_share_is_named_and_kept(server: Path) -> None:
    (server / "srv/pool/data").write_text("mine")
    with pytest.raises(Failed, match="not a directory"):
        apply(Tools(STOPPED))
    assert (server / "srv/pool/data").read_text() == "mine"


def test_the_second_time_nothing_is_written_and_samba_hears_nothing(server: Path) -> None:
    apply(Tools(STOPPED))
    tools = Tools()
    report = apply(tools)
    assert report.changed == []
    assert not tools.called("testparm") and not tools.called("smbcontrol") and not tools.called("systemctl restart")


def test_boot_drive_that_is_read_only_has_all_that_a_boot_renders(
    server: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with store.config_lock():
        apply(Tools(STOPPED))
    # memory is empty after a start
    (server / "run/millrace/nfsd.env").unlink()
    read_only.boot_drive(server, monkeypatch)
    with store.config_lock():
        report = apply(Tools(STOPPED))
    assert report.changed == ["/run/millrace/nfsd.env"]
    # and one that is asked to write says so
    with pytest.raises(OSError, match="Read-only file system"):
        apply(Tools(STOPPED), [port("enp2s0", "10.0.0.2/24")])


def test_running_nfs_server_rereads_its_exports(server: Path) -> None:
    tools = Tools()
    report = apply(tools)
    assert tools.called("exportfs -ra") and "nfs-server.service" in report.reloaded


@pytest.mark.parametrize(
    "answer",
    [
        Result(1, "", "WARNING: Ignoring invalid value 'purple'\nError loading services.\n"),
        Result(0, "", 'Unknown parameter encountered: "getwd cache"\nLoaded services file OK.\n'),
    ],
)
def test_an_smb_conf_that_samba_does_not_like_replaces_nothing_while_nfs_goes_on(server: Path, answer: Result) -> None:
    (server / "etc/samba").mkdir(parents=True)
    (server / "etc/samba/smb.conf").write_text("[global]\n")
    tools = Tools({"testparm": answer})
    with pytest.raises(Failed, match="the old one stays"):
        apply(tools)
    assert (server / "etc/samba/smb.conf").read_text() == "[global]\n"
    assert not tools.called("smbcontrol")
    assert (server / "etc/exports.d/millrace.exports").exists()


def test_clients_stay_connected_where_only_shares_change(server: Path) -> None:
    apply(Tools(STOPPED))
    tools = Tools()
    other = first_config().shares[0].model_copy(update={"name": "other"})
    apply(tools, config=first_config().model_copy(update={"shares": [other]}))
    assert tools.called("smbcontrol smbd reload-config") and not tools.called("systemctl restart")


def test_credits_of_the_policy_are_rendered_and_loaded_without_ending_a_session(server: Path) -> None:
    apply(Tools(STOPPED))
    tools = Tools()
    apply(tools, smbd=SmbdSettings(max_credits=1024, aio_min_bytes=65536))
    lines = (server / "etc/samba/smb.conf").read_text().splitlines()
    assert {"smb2 max credits = 1024", "aio read size = 65536", "aio write size = 65536"} <= set(lines)
    assert tools.called("smbcontrol smbd reload-config") and not tools.called("systemctl restart")
    apply(Tools())
    assert "smb2 max credits = 8192" in (server / "etc/samba/smb.conf").read_text().splitlines()


def test_a_new_address_needs_a_restart_as_smbd_opens_its_listeners_once(server: Path) -> None:
    apply(Tools(STOPPED))
    more = [port("enp1s0", "10.0.0.2/24", "10.0.0.11/24")]
    tools = Tools()
    apply(tools, more)
    assert tools.called(
        "systemctl restart --no-block --job-mode=ignore-dependencies smbd.service"
    ) and not tools.called("smbcontrol")
    # once: an address on which it will not listen must not end the sessions at every change of a port
    again = Tools()
    apply(again, more)
    assert not again.called("systemctl restart")


def test_port_without_a_link_ends_no_session(server: Path) -> None:
    two = [*PORTS, port("enp2s0", "10.0.1.2/24", speed=None)]
    listen(server, "0.0.0.0:2049", "10.0.0.2:445", "10.0.1.2:445")
    apply(Tools(STOPPED), two)
    tools = Tools()
    apply(tools)
    assert tools.called("smbcontrol smbd reload-config") and not tools.called("systemctl restart")


def test_a_share_that_is_not_exported_is_reported_with_the_reason(server: Path) -> None:
    report = apply(Tools(STOPPED), [])
    assert report.warnings and "data is not exported: NFS is closed" in report.warnings[0]
