# SPDX-License-Identifier: Apache-2.0
"""Shares over SMB Direct: one server for each, named ports only, users of this server, and nothing left at the end."""

import json
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest
from pydantic import ValidationError

from millrace.plan.policy.model import Policy, SmbDirectPolicy
from millrace.serve.account.edit import change_password, set_user
from millrace.serve.config import store
from millrace.serve.share import edit
from millrace.serve.share.direct import configuration, ports, sessions
from millrace.serve.share.server import ShareServer
from millrace.serve.share.share_list import rows
from millrace.serve.share.verify import verify
from millrace.system import paths
from millrace.system.errors import BadInput, Refused
from millrace.system.run import Result, Runner
from tests.fakes.appliance import Appliance
from tests.fakes.certificates import certify

UNIT = "millrace-smb-direct.service"
HASHES = (
    f"admin:1000:{'X' * 32}:{'A' * 32}:[U          ]:LCT-1:\n"
    f"anna:2000:{'X' * 32}:0123456789ABCDEF0123456789ABCDEF:[U          ]:LCT-1:\n"
    f"nobody:65534:{'X' * 32}:{'B' * 32}:[U          ]:LCT-1:\n"
)
LISTEN = {"ifname": "rxe0", "state": "LISTEN", "src-addr": "0.0.0.0:445"}
CONNECT = {"ifname": "rxe0", "state": "CONNECT", "src-addr": "10.0.0.2:445", "dst-addr": "10.0.0.9:33000"}


class DirectAppliance(Appliance):
    """One whose kernel serves what ksmbd.mountd was told, to users of its file."""

    TAKEN: ClassVar = (
        *Appliance.TAKEN,
        f"systemctl start --no-block {UNIT}",
        f"systemctl reload {UNIT}",
        f"systemctl restart --job-mode=ignore-dependencies {UNIT}",
        f"systemctl try-reload-or-restart --no-block {UNIT}",
        "rdma -j resource show cm_id",
        "ksmbd.control --reload",
        "mount -t cifs -o ro,vers=3.1.1,rdma,nosharesock,ip=10.0.0.2,credentials=* //millrace/* *",
    )

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.up = False
        self.connections = [LISTEN]
        self.broken["pdbedit -s /dev/null -L -w"] = Result(0, HASHES, "")

    def _systemctl(self, words: list[str], stdin: str) -> Result:
        if words[-1] != UNIT:
            return super()._systemctl(words, stdin)
        if words[0] == "is-active":
            return Result(0 if self.up else 3, "", "")
        self.up = words[0] != "stop"
        return Result(0, "", "")

    def _rdma(self, words: list[str], stdin: str) -> Result:
        return Result(0, json.dumps(self.connections if self.up else []), "")

    def _mount(self, words: list[str], stdin: str) -> Result:
        if "cifs" not in words:
            return super()._mount(words, stdin)
        given = words[words.index("-o") + 1].rpartition("credentials=")[2]
        # mount.cifs(8) takes a blank beside the sign for a part of the value
        assert Path(given).read_text().startswith("username=millrace-check\npassword=")
        text = (self.root / paths.SMB_DIRECT).read_text()
        known = "millrace-check" in text and f"[{words[-2].rpartition('/')[2]}]" in text
        return Result(0, "", "") if known else Result(32, "", "mount error(2): No such file or directory")

    def server(self, *networks: str) -> ShareServer:
        found = super().server(*networks)
        return replace(found, ports=[replace(port, rdma=True) for port in found.ports])


@pytest.fixture
def appliance(root_user: Path, monkeypatch: pytest.MonkeyPatch) -> DirectAppliance:
    certify()
    made = DirectAppliance(root_user)
    made.opens_nfs(monkeypatch)
    store.change("root", "user create anna", _with_anna)
    made.accounts["passwd"]["anna"] = made.accounts["group"]["anna"] = 2000
    made.accounts["group"]["lab"] = 2001
    return made


def _with_anna(config: store.Config) -> store.Config:
    document = config.model_dump()
    document["users"] = [{"name": "anna", "uid": 2000}]
    document["groups"] = [{"name": "lab", "gid": 2001}]
    return store.Config.model_validate(document)


def create(appliance: DirectAppliance, name: str = "fast", **more: object) -> None:
    settings = {"nfs": False, "direct": True, "smb_users": ("anna",), **more}
    edit.create_shares([name], settings, appliance.server)


def served(appliance: DirectAppliance) -> str:
    path = appliance.root / paths.SMB_DIRECT
    return path.read_text() if path.exists() else ""


def test_share_is_served_by_one_server_only(appliance: DirectAppliance) -> None:
    create(appliance, type="training", comment="scratch")
    text = served(appliance)
    assert "[fast]\ncomment = scratch\npath = /srv/pool/fast\nread only = no\nvalid users = anna\n" in text
    assert "create mask = 0766\ndirectory mask = 0777\n" in text and "interfaces = no-tcp" in text
    assert "fast" not in appliance.on_smb() and appliance.up
    (row,) = [line for line in rows(appliance.server().shares(store.load())) if line.startswith("fast ")]
    assert row.endswith("  SMB Direct for anna")
    edit.set_share("fast", {"direct": False}, appliance.server)
    assert served(appliance) == "" and not appliance.up
    assert "fast" in appliance.on_smb()


def test_account_that_verifies_is_known_only_meanwhile(appliance: DirectAppliance) -> None:
    create(appliance)
    assert "millrace-check" not in served(appliance)
    file = paths.smb_direct_users()
    assert file.stat().st_mode & 0o777 == 0o600
    # the hash of smbpasswd(5) in the words of ksmbdpwd.db(5); an account that is nobody's is not in it
    assert file.read_text() == "anna:ASNFZ4mrze8BI0VniavN7w==\n"
    (verified,) = verify(["fast"], appliance.server).shares
    assert verified.problem is None and verified.seen[-1] == "SMB Direct: test mount of fast from this server succeeded"


def test_server_that_does_not_answer_over_rdma_undoes_the_change(appliance: DirectAppliance) -> None:
    appliance.connections = []
    with pytest.raises(Refused, match="does not answer over RDMA"):
        create(appliance)
    assert served(appliance) == "" and not appliance.up
    assert store.load().share("fast") is None


def test_who_may_no_longer_open_a_share_is_disconnected(appliance: DirectAppliance) -> None:
    create(appliance)
    create(appliance, "second")
    assert not appliance.called("systemctl restart")
    edit.set_share("fast", {"smb_users": (), "smb_groups": ("lab",)}, appliance.server)
    assert appliance.called("systemctl restart")


def test_nobody_signs_in_whose_wrong_passwords_would_open_more_than_a_share(appliance: DirectAppliance) -> None:
    """ksmbd counts no wrong passwords: that of admin is the server's, and Samba has locked the other account."""
    locked = HASHES.replace(":[U          ]:", ":[UL         ]:")
    appliance.broken["pdbedit -s /dev/null -L -w"] = Result(0, locked, "")
    create(appliance, smb_users=("anna", "admin"))
    assert paths.smb_direct_users().read_text() == ""
    assert "valid users = anna\n" in served(appliance)
    with pytest.raises(Refused, match="second cannot be served over SMB Direct: admin cannot sign in over it"):
        create(appliance, "second", smb_users=("admin",))


def test_password_and_groups_reach_it_where_it_runs(appliance: DirectAppliance) -> None:
    reload = f"systemctl try-reload-or-restart --no-block {UNIT}"
    change_password("anna", "correct-horse-9-battery", appliance)
    assert not appliance.called(reload)
    create(appliance, smb_users=(), smb_groups=("lab",))
    assert "valid users = @lab" in served(appliance)
    change_password("anna", "correct-horse-9-battery", appliance)
    assert len(appliance.called(reload)) == 1
    set_user("anna", ["lab"], appliance)
    assert len(appliance.called(reload)) == 2


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"encryption": "required"}, "is not encrypted"),
        ({"smb_networks": ("10.0.0.0/24",)}, "cannot tell networks apart"),
        ({"nfs": True}, "switch NFS off"),
        ({"type": "home"}, "holds homes"),
        ({"time_machine": True}, "Time Machine needs Samba"),
        ({"smb_users": ("AD\\bert",)}, "users and groups of this server only"),
    ],
)
def test_what_it_lacks_is_refused(appliance: DirectAppliance, settings: dict[str, object], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        create(appliance, **settings)
    assert store.load().share("fast") is None and served(appliance) == ""


def test_nfs_beside_it_is_for_data_that_nobody_writes(appliance: DirectAppliance) -> None:
    create(appliance, nfs=True, type="dataset-ro")
    assert "read only = yes" in served(appliance)


def rdma(root: Path, **devices: str) -> None:
    for device, port in devices.items():
        attributes = root / "sys/class/infiniband" / device / "ports/1/gid_attrs/ndevs"
        attributes.mkdir(parents=True)
        (attributes / "0").write_text(f"{port}\n")


def allowed(*names: str) -> SmbDirectPolicy:
    return SmbDirectPolicy(ports=list(names), trusted_network=True)


def test_every_rdma_device_has_to_be_named(root_user: Path) -> None:
    assert ports.obstacle(SmbDirectPolicy()) == ports.OFF
    assert ports.obstacle(allowed("ens1")) == ports.NO_MODULES
    (root_user / ports.DAEMON).parent.mkdir(parents=True)
    (root_user / ports.DAEMON).touch()
    assert str(ports.obstacle(allowed("ens1"))).startswith("ens1 has no RDMA device")
    rdma(root_user, mlx5_0="ens1", mlx5_1="ens2")
    assert "would answer on ens2 too" in str(ports.obstacle(allowed("ens1")))
    assert ports.obstacle(allowed("ens1", "ens2")) is None


def test_policy_has_to_say_that_the_network_is_trusted() -> None:
    with pytest.raises(ValidationError, match="neither signed nor encrypted"):
        Policy.model_validate({"smb_direct": {"ports": ["ens1"]}})
    with pytest.raises(ValidationError, match="is not the name of a port"):
        Policy.model_validate({"smb_direct": {"ports": ["a port"], "trusted_network": True}})


def test_server_that_may_not_serves_nothing_over_it(appliance: DirectAppliance) -> None:
    create(appliance)
    closed = appliance.server()
    object.__setattr__(closed.context, "no_direct", ports.OFF)
    report = closed.apply(store.load())
    assert served(appliance) == "" and not appliance.up
    assert f"fast is not served over SMB Direct: {ports.OFF}" in report.warnings
    with pytest.raises(Refused, match="SMB Direct is off"):
        edit.create_shares(["more"], {"nfs": False, "direct": True}, lambda: closed)


def session(root: Path, number: int, **fields: str) -> None:
    directory = root / "proc/fs/ksmbd/sessions"
    directory.mkdir(parents=True, exist_ok=True)
    lines = {"user": "anna", "state": "valid", "client": "::", "channels": "1", **fields}
    (directory / str(number)).write_text("".join(f"{key:<20}\t{value}\n" for key, value in lines.items()))


@pytest.fixture
def connected() -> Runner:
    return lambda argv, stdin=None: Result(0, json.dumps([LISTEN, CONNECT]), "")


def test_sessions_are_those_of_rdma(root_user: Path, connected: Runner) -> None:
    assert sessions.sessions(connected) == []
    session(root_user, 1)
    session(root_user, 3, user="millrace-check")
    session(root_user, 4, state="expired")
    (root_user / "proc/fs/ksmbd/clients").write_text(
        "#<client>  <dialect> <credits> <open files> <requests> <last active>\n :: 0x311 512 3 0 00:00:10\n"
    )
    assert sessions.sessions(connected) == [sessions.DirectSession("anna", "10.0.0.9", 1, 3)]
    session(root_user, 5, user="bert", encryption="aes128-gcm")
    rdma_sessions = sessions.sessions(connected)
    assert [(rdma_session.user, rdma_session.open_files) for rdma_session in rdma_sessions] == [
        ("anna", None),
        ("bert", None),
    ]
    assert configuration.served([]) == []
