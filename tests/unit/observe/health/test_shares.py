# SPDX-License-Identifier: Apache-2.0
"""Findings of shares that are not served, limits that are not set, users and addresses that are missing."""

import grp
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from millrace.observe.health.checks import ports, shares
from millrace.observe.health.host import Host
from millrace.observe.health.model import Level
from millrace.serve.config import files
from millrace.serve.config.model import Config, DesiredPort, DesiredShare, User, first_config
from millrace.system import paths, posix_acl
from millrace.system.documents import write_model
from millrace.system.run import Result
from tests.fakes.mounts import mount, unmount_all
from tests.fakes.samples import Tools
from tests.unit.observe.health.servers import ADDRESSES, WELL, host, sentences, well

MAC = "52:54:00:00:00:01"


@pytest.fixture
def serving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    well(tmp_path)
    return tmp_path


def wanted(**changes: object) -> None:
    config = Config.model_validate(first_config().model_dump() | changes)
    write_model(files.config_file(), config)
    for share in config.shares:
        (paths.ROOT / "srv/pool" / share.name).mkdir(parents=True, exist_ok=True)


def addresses(*given: str) -> Host:
    [entry] = json.loads(ADDRESSES)
    infos = [{"local": one.split("/")[0], "prefixlen": int(one.split("/")[1]), "scope": "global"} for one in given]
    return Host(Tools({**WELL, "ip -j addr": Result(0, json.dumps([entry | {"addr_info": infos}]), "")}))


def test_directories_whose_quota_nobody_assigns(serving: Path) -> None:
    wanted(shares=[DesiredShare(name="data", type="mixed", project=1001, child_size=1 << 30).model_dump()])
    mount(serving, "/dev/md127", "/srv/pool", "xfs", "rw,prjquota")
    active = "systemctl show --property=ActiveState --value millrace-child-quota.service"
    down = Host(Tools({**WELL, active: Result(0, "failed\n", "")}))
    assert "WARN: New directories of data have no quota: millrace-child-quota" in sentences(shares.check(down))
    up = Host(Tools({**WELL, active: Result(0, "active\n", "")}))
    assert [one.level for one in shares.check(up)] == [Level.OK]
    paths.child_quota_file().write_text(json.dumps({"children": {}, "problems": ["data/a has 1 files", "x"]}))
    assert "WARN: A directory has no complete quota: data/a has 1 files and 1 more." in sentences(shares.check(up))


@pytest.mark.parametrize(
    ("mode", "default", "options"),
    [
        (0o777, 0o777, "--writing together;"),
        (0o2770, 0o770, "--writing together --group lab;"),
        (0o2775, 0o775, "--writing some --group lab;"),
        # as shares of before have it, and as administrators set it
        (0o1777, None, None),
        (0o2770, None, None),
        (0o700, None, None),
        (0o755, 0o755, None),
    ],
)
def test_share_that_lost_its_rule_for_writing(
    serving: Path, monkeypatch: pytest.MonkeyPatch, mode: int, default: int | None, options: str | None
) -> None:
    monkeypatch.setattr(grp, "getgrgid", lambda number: SimpleNamespace(gr_name="lab"))
    path = serving / "srv/pool/data"
    path.chmod(mode)
    posix_acl.write(str(path), posix_acl.DEFAULT, None if default is None else posix_acl.encode(default))
    said: list[tuple[Level, str, str | None]] = []
    for rule in ({"writing": "own"}, {"writing": "together"}, {"type": "dataset-ro"}):
        share = DesiredShare.model_validate({"name": "data", "type": "mixed", "project": 1001, **rule})
        wanted(shares=[share.model_dump()])
        said += [(finding.level, finding.key, finding.todo) for finding in shares.check(Host(Tools(WELL)))]
    end = "to end it: millrace share permissions data --apply"
    lost = (Level.WARN, "shares/writing/data", f"To let them: millrace share set data {options} {end}")
    fine = (Level.OK, "shares", None)
    assert said == [fine if options is None else lost, fine, fine]


def test_snapshots_that_are_not_exported_to_a_client_with_root(serving: Path) -> None:
    def configured(squash: str) -> None:
        nfs = {"clients": [{"client": "10.0.0.0/24", "squash": squash}], "snapshots": True}
        share = DesiredShare.model_validate({"name": "data", "type": "mixed", "project": 1001, "nfs": nfs})
        wanted(shares=[share.model_dump()])

    snapshot = serving / "srv/pool" / paths.SNAPSHOTS / "data/20261129T120000Z-hourly"
    snapshot.mkdir(parents=True)
    configured("none")
    said = sentences(shares.check(host()))
    assert "WARN: The snapshots of data are not exported over NFS: some of them are of a former share" in said
    assert "Remove these snapshots, or squash root of all clients: millrace snapshot list data" in said
    configured("root")
    assert "snapshots" not in sentences(shares.check(host()))
    configured("none")
    (snapshot / "manifest.json").write_text('{"schema_version": 1, "type": "mixed", "project": 1001}')
    assert "snapshots" not in sentences(shares.check(host()))


def test_smb_direct_that_is_not_served_or_served_too_widely(serving: Path) -> None:
    smb = {"users": ["admin"], "direct": True}
    share = DesiredShare.model_validate(
        {"name": "fast", "type": "training", "project": 1002, "nfs": {"enabled": False}, "smb": smb}
    )
    wanted(shares=[share.model_dump()])
    state = "systemctl show --property=ActiveState --value millrace-smb-direct.service"
    down, up = (Host(Tools({**WELL, state: Result(0, f"{status}\n", "")})) for status in ("inactive", "active"))
    assert "FAIL: fast is not served over SMB Direct: SMB Direct is off" in sentences(shares.check(down))
    assert "FAIL: The kernel's SMB server still answers: SMB Direct is off" in sentences(shares.check(up))
    (serving / "etc/millrace").mkdir(parents=True, exist_ok=True)
    paths.policy_file().write_text('[smb_direct]\nports = ["ens1"]\ntrusted_network = true\n')
    (serving / "usr/sbin").mkdir(parents=True, exist_ok=True)
    (serving / "usr/sbin/ksmbd.mountd").touch()
    device = serving / "sys/class/infiniband/rxe0"
    device.mkdir(parents=True)
    (device / "parent").write_text("ens1\n")
    assert "fast is not served over SMB Direct: millrace-smb-direct.service is not run" in sentences(shares.check(down))
    assert [finding.level for finding in shares.check(up)] == [Level.OK]


def test_all_is_well(serving: Path) -> None:
    wanted()
    assert [one.level for one in (*shares.check(host()), *ports.check(host()))] == [Level.OK, Level.OK]


def test_a_share_that_fell_out_of_the_table(serving: Path) -> None:
    wanted()
    (serving / "run/millrace/nfs/etab").write_text("/elsewhere\t*(rw)\n")
    assert "FAIL: NFS does not export /srv/pool/data. [systemctl restart millrace-share" in sentences(
        shares.check(host())
    )
    (serving / "proc/fs/nfsd/threads").write_text("0\n")
    assert "does not export" not in sentences(shares.check(host()))


def test_table_of_exports_that_is_gone_or_lacks_a_client(serving: Path) -> None:
    wanted()
    (serving / "etc/exports.d/millrace.exports").write_text("/srv/pool/data 10.0.0.0/24(rw) 10.1.0.0/24(ro)\n")
    table = serving / "run/millrace/nfs/etab"
    assert "FAIL: NFS does not export /srv/pool/data to 10.1.0.0/24. [" in sentences(shares.check(host()))
    with table.open("a") as file:
        file.write("/srv/pool/data\t10.1.0.0/24(ro,sync)\n")
    assert [finding.level for finding in shares.check(host())] == [Level.OK]
    # exportfs that cannot write one says nothing
    table.unlink()
    assert "FAIL: NFS does not export /srv/pool/data. [" in sentences(shares.check(host()))


def test_limits_that_do_not_hold(serving: Path) -> None:
    wanted(shares=[DesiredShare(name="data", type="mixed", project=1001, size=1 << 30).model_dump()])
    assert "WARN: The limits of data are not enforced" in sentences(shares.check(host()))
    mount(serving, "/dev/md127", "/srv/pool", "xfs", "rw,prjquota")
    assert [one.level for one in shares.check(host())] == [Level.OK]
    unmount_all(serving)
    assert [one.level for one in shares.check(host())] == [Level.OK]


def test_a_user_that_is_wanted_and_not_there(serving: Path) -> None:
    (serving / "etc/passwd").write_text("root:x:0:0::/root:/bin/sh\n")
    wanted(users=[User(name="ann", uid=2000).model_dump()])
    assert "WARN: The user ann does not exist. [systemctl restart millrace-users" in sentences(shares.check(host()))


def test_data_that_waits_for_its_end(serving: Path) -> None:
    wanted()
    (serving / "srv/pool/.millrace-trash/old-77").mkdir(parents=True)
    assert "left by an interruption: old-77" in sentences(shares.check(host()))


APPLIED = "systemctl show --property=ActiveState --value millrace-share.service"


@pytest.mark.parametrize("state", ["inactive", "activating"])
def test_directory_that_the_boot_has_not_made_yet_is_not_missing(serving: Path, state: str) -> None:
    wanted(shares=[DesiredShare(name="plans", type="mixed", project=1001).model_dump()])
    (serving / "srv/pool/plans").rmdir()
    starting = Host(Tools({**WELL, APPLIED: Result(0, f"{state}\n", "")}))
    assert [finding.level for finding in shares.check(starting)] == [Level.OK]


def test_share_whose_directory_is_gone_is_a_failure(serving: Path) -> None:
    wanted(shares=[DesiredShare(name="plans", type="mixed", project=1001).model_dump()])
    assert [finding.level for finding in shares.check(host())] == [Level.OK]
    (serving / "srv/pool/plans").rmdir()
    said = sentences(shares.check(Host(Tools({**WELL, APPLIED: Result(0, "active\n", "")}))))
    assert said.startswith("FAIL: The directory of plans is missing in /srv/pool: clients get errors.")
    assert "millrace share remove plans" in said
    # a pool that is not mounted is for another check
    unmount_all(serving)
    assert "plans" not in sentences(shares.check(host()))


def test_io_uring_that_is_refused_has_two_ways_out(serving: Path) -> None:
    (serving / "proc/sys/kernel").mkdir(parents=True, exist_ok=True)
    (serving / "proc/sys/kernel/io_uring_disabled").write_text("2\n")
    train = DesiredShare.model_validate(
        {"name": "train", "type": "training", "project": 1002, "nfs": {"enabled": False}}
    )
    wanted(shares=[train.model_dump()])
    assert "FAIL: The kernel refuses io_uring: train" in sentences(shares.check(host()))
    assert "--no-io-uring" in sentences(shares.check(host()))
    without = train.model_copy(update={"smb": train.smb.model_copy(update={"io_uring": False})})
    wanted(shares=[without.model_dump()])
    assert [finding.level for finding in shares.check(host())] == [Level.OK]


def test_a_port_that_lacks_an_address(serving: Path) -> None:
    port = DesiredPort(mac=MAC, name="enp1s0", addresses=["10.0.0.2/24", "10.0.0.11/24"])
    wanted(ports=[port.model_dump()])
    assert [one.level for one in ports.check(addresses("10.0.0.2/24", "10.0.0.11/24"))] == [Level.OK]
    assert "WARN: enp1s0 lacks 10.0.0.11/24. [" in sentences(ports.check(addresses("10.0.0.2/24")))
    (serving / "sys/class/net/enp1s0/carrier").write_text("0\n")
    assert "it has no link" in sentences(ports.check(addresses("10.0.0.2/24")))


def test_a_lease_that_puts_a_management_port_into_a_client_network(serving: Path) -> None:
    """The network was confirmed when the port was elsewhere; a DHCP server has moved it since."""
    (serving / "etc/millrace/policy.toml").unlink()
    wanted(management=[MAC], nfs={"networks": ["10.0.0.0/16"]})
    assert [finding.level for finding in ports.check(addresses("192.168.1.2/24"))] == [Level.OK]
    [finding] = ports.check(addresses("10.0.0.2/24"))
    assert finding.level is Level.WARN
    assert finding.sentence == (
        "The client network 10.0.0.0/16 includes addresses of the management port enp1s0 (10.0.0.0/24): "
        "NFS is exported through that port."
    )
    assert finding.todo and "millrace share networks set" in finding.todo
    # one that serves clients may be in it
    wanted(nfs={"networks": ["10.0.0.0/16"]})
    assert [finding.level for finding in ports.check(addresses("10.0.0.2/24"))] == [Level.OK]


def test_a_management_port_in_a_network_of_the_policy(serving: Path) -> None:
    wanted(management=[MAC])
    [finding] = ports.check(addresses("10.0.0.2/24"))
    assert finding.todo and "/etc/millrace/policy.toml" in finding.todo


def test_a_port_that_is_gone(serving: Path) -> None:
    port = DesiredPort(mac="52:54:00:00:00:77", name="enp9s0", addresses=["10.0.0.2/24"])
    wanted(ports=[port.model_dump()])
    found = sentences(ports.check(host()))
    assert "enp9s0 (52:54:00:00:00:77) is not in this server; it should have 10.0.0.2/24" in found
