# SPDX-License-Identifier: Apache-2.0
"""Mounts, exports, the account and files of an interrupted change are cleaned up by the next one."""

from pathlib import Path

from millrace.serve.render import rendered
from millrace.serve.share.edit import create_shares
from millrace.system.run import Result
from tests.fakes.appliance import Appliance
from tests.fakes.mounts import mount

HALVES = (
    "var/lib/millrace/.config.json.abc",
    "var/lib/millrace/.rendered.json.abc",
    "var/lib/millrace/config-history/.0001.json.abc",
    "etc/exports.d/.millrace.exports.abc",
    "etc/exports.d/.millrace-verify.exports.abc",
    "etc/samba/.smb.conf.abc",
    "etc/.projid.abc",
    "etc/tlshd/.config.abc",
    "etc/systemd/network/.40-millrace-525400000001.network.abc",
)


def test_the_next_change_sweeps(appliance: Appliance) -> None:
    create_shares(["first"], {}, appliance.server)
    with_port = {**rendered.load().files, "etc/systemd/network/40-millrace-525400000001.network": ["0"]}
    rendered.save(rendered.load(), with_port)
    run = appliance.root / "run/millrace"
    (run / "verify-mount").mkdir(parents=True)
    (run / "verify-password").write_text("username = millrace-check\n")
    appliance.smb_accounts.add("millrace-check")
    (appliance.root / "etc/exports.d/millrace-verify.exports").write_text("/srv/pool/data 127.0.0.1(ro)\n")
    for name in HALVES:
        (appliance.root / name).parent.mkdir(parents=True, exist_ok=True)
        (appliance.root / name).write_text("{")
    create_shares(["train"], {}, appliance.server)
    assert not list(run.glob("verify-*")) and appliance.smb_accounts == set() and appliance.transient == {}
    assert not [name for name in HALVES if (appliance.root / name).exists()]


def test_a_mount_that_cannot_go_yet_stops_no_change(appliance: Appliance) -> None:
    stuck = appliance.root / "run/millrace/verify-stuck"
    (stuck / "srv").mkdir(parents=True)
    mount(appliance.root, "127.0.0.1:/", stuck, "nfs4", "ro", process="self")
    appliance.broken["umount --force --lazy " + str(stuck)] = Result(32, "", "umount: target is busy\n")
    create_shares(["train"], {}, appliance.server)
    assert stuck.is_dir() and "train" in appliance.on_smb()


def test_files_of_others_stay(appliance: Appliance, tmp_path: Path) -> None:
    others = (
        "etc/exports.d/.other.exports.abc",
        "etc/samba/.backup",
        "run/millrace/plan.json",
        "etc/exports.d/o.exports",
    )
    for name in others:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("# mine\n")
    create_shares(["train"], {}, appliance.server)
    assert all((tmp_path / name).read_text() == "# mine\n" for name in others)
