# SPDX-License-Identifier: Apache-2.0
"""`tools/run` again boots the same disks, `--fresh` starts over, and what it prints can be pasted."""

from pathlib import Path

import pytest

from host import run
from millrace.errors import BadInput, Refused
from millrace.plan.policy_file import parse_policy


def test_the_first_start_is_new_and_the_second_is_not(tmp_path: Path) -> None:
    directory = tmp_path / "1u12"
    assert run.prepare(directory, "hash", fresh=False)
    (directory / "drive.raw").touch()
    assert not run.prepare(directory, "hash", fresh=False)
    assert (directory / "drive.raw").exists()


def test_fresh_starts_over(tmp_path: Path) -> None:
    directory = tmp_path / "1u12"
    run.prepare(directory, "hash", fresh=False)
    (directory / "drive.raw").touch()
    assert run.prepare(directory, "hash", fresh=True)
    assert not (directory / "drive.raw").exists()


def test_disks_of_another_build_are_kept_and_said_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = tmp_path / "1u12"
    run.prepare(directory, "old", fresh=False)
    assert not run.prepare(directory, "new", fresh=False)
    assert "--fresh" in capsys.readouterr().out


def test_the_mount_lines_name_the_forwarded_ports() -> None:
    said = run.instructions({run.COCKPIT: 40001, run.NFS: 40002, run.SMB: 40003}, "river-mill")
    assert "https://127.0.0.1:40001/" in said
    assert "user admin, password river-mill" in said
    assert "mount -t nfs4 -o vers=4.2,proto=tcp,port=40002 127.0.0.1:/srv/pool/data /mnt" in said
    assert "mount -t cifs //127.0.0.1/data /mnt -o vers=3.1.1,seal,port=40003,username=admin" in said


def test_the_mount_lines_are_for_a_client_network_that_is_confirmed() -> None:
    nfs = parse_policy(run.POLICY.decode(), "tools/run").nfs
    # QEMU forwards from an address and a port of its own
    assert (nfs.networks, nfs.privileged_ports) == (["10.0.2.0/24"], False)


def test_the_password_of_the_first_start_is_not_invented_later() -> None:
    assert "first start" in run.instructions({run.COCKPIT: 1, run.NFS: 2, run.SMB: 3}, None)


def test_the_disks_of_a_running_server_are_not_touched(tmp_path: Path) -> None:
    with run.alone(tmp_path / "1u12"), pytest.raises(Refused, match="runs already"), run.alone(tmp_path / "1u12"):
        pass
    with run.alone(tmp_path / "1u12"):
        pass


def test_an_unknown_server_is_refused_before_anything_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("host.build.build_appliance", lambda: pytest.fail("built"))
    with pytest.raises(BadInput, match="1u12"):
        run.main(["--server", "3u36"])
