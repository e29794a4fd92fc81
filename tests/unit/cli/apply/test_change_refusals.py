# SPDX-License-Identifier: Apache-2.0
"""What a file may not do is said before anything is changed, also with --check; and each sentence has its line."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from millrace.cli.apply import change, reading
from millrace.cli.apply.reading import FileProblems
from millrace.observe.alert import routes
from millrace.observe.alert.model import Security
from millrace.plan.policy import edit as policy_edit
from millrace.protect.snapshot import snapshot_plan
from millrace.serve.account import account_change, edit
from millrace.serve.clone.clone_tree import Tally
from millrace.serve.config import store
from millrace.serve.config.replica import ReplicaSource, SnapshotReader
from millrace.serve.network import trial
from millrace.serve.share.edit import create_shares
from millrace.system.errors import Refused
from tests.unit.cli.apply.server import FILE, AppliedServer, applied, exported, target

MAIL = '[alert_routes.ops]\nkind = "mail"\nserver = "{server}"\nsender = "nas@example.com"\nrecipients = ["{to}"]\n'
SIGNED_IN = f'{MAIL}user = "{{user}}"\n'


def placed(sentence: str, text: str) -> str:
    return change._placed(sentence, reading.parse(text, FILE))


def replica(server: AppliedServer) -> None:
    """Make a share of this server a replica, as `millrace replica add` does."""
    source = ReplicaSource(address="10.0.0.7", share="far", authority="PEM", fingerprint=":".join(["AB"] * 32))
    create_shares(["far"], {"smb": False}, server.server)
    shares = [
        share
        if share.name != "far"
        else share.model_copy(update={"replica": source, "nfs": share.nfs.model_copy(update={"enabled": False})})
        for share in store.load().shares
    ]
    store.change("root", "replica", lambda config: config.model_copy(update={"shares": shares}))


class TestSecretsOfRoutes:
    @pytest.fixture
    def mail(self, server: AppliedServer) -> AppliedServer:
        """A server with a route that signs in."""
        made = routes.mail_route(
            "ops", "smtp.example.com:587", Security.STARTTLS, "nas@example.com", ["a@example.com"], "nas", None
        )
        routes.add(made, "s3cret", server)
        return server

    def test_secret_stays_with_other_recipients(self, mail: AppliedServer) -> None:
        applied(SIGNED_IN.format(server="smtp.example.com:587", to="b@example.com", user="nas"), mail)
        assert routes.secrets_of_routes() == {"ops": "s3cret"}
        (route,) = routes.load()
        assert route.kind == "mail" and route.recipients == ["b@example.com"]

    @pytest.mark.parametrize(("server_", "user"), [("smtp.example.org:587", "nas"), ("smtp.example.com:587", "other")])
    def test_another_receiver_needs_its_secret(self, mail: AppliedServer, server_: str, user: str) -> None:
        with pytest.raises(FileProblems, match=r"server\.toml:1: alert_routes\.ops: secret_file is missing"):
            target(SIGNED_IN.format(server=server_, to="a@example.com", user=user), mail)
        assert routes.secrets_of_routes() == {"ops": "s3cret"}

    def test_route_that_needs_no_secret_is_no_problem(self, server: AppliedServer) -> None:
        applied(MAIL.format(server="smtp.example.com", to="a@example.com"), server)
        assert [route.name for route in routes.load()] == ["ops"]


class TestReplicas:
    def test_replica_is_neither_pruned_nor_exported(self, server: AppliedServer) -> None:
        replica(server)
        wanted = target("[shares.data]\n", server, prune=True)
        assert wanted.changes == [] and wanted.removed == []
        assert any("share far is a replica" in line and "replica remove far" in line for line in wanted.warnings)
        assert "shares.far" not in exported() and target(exported(), server, prune=True).changes == []


class TestSchedules:
    def test_schedule_that_cannot_hold_is_a_problem(
        self, server: AppliedServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(snapshot_plan, "_counted", lambda *_: Tally(entries=10**9, bytes=0))
        with pytest.raises(FileProblems, match=r"server\.toml:2: shares\.data\.snapshots: a snapshot of data takes"):
            target("[shares.data]\nsnapshots = { hourly = 24 }\n", server)
        assert target("[shares.new]\nsnapshots = { hourly = 24 }\n", server).changes


class TestOwnRights:
    def test_who_runs_it_keeps_its_rights(self, server: AppliedServer, monkeypatch: pytest.MonkeyPatch) -> None:
        edit.create_user("eve", [], "s3cret-word-2", server, role="administrator")
        monkeypatch.setattr(account_change, "invoking_user", lambda: "eve")
        with pytest.raises(Refused, match="this takes rights from eve"):
            target('[access.eve]\nrole = "viewer"\n', server)
        assert target('[access.eve]\nfull_name = "Eve"\n', server).changes


class TestPrunedPolicy:
    def test_other_sections_stay(self, server: AppliedServer) -> None:
        policy_edit.keep('[scrub]\nevery = "week"\nwindow = "Sat 22:00-06:00"\n\n[nfsd]\nthreads = 32\n', server)
        wanted = target('[policy.scrub]\nevery = "week"\n', server, prune=True)
        assert wanted.removed == ["policy key scrub.window"]
        assert "threads = 32" in wanted.policy and "window" not in wanted.policy

    def test_key_at_its_default_is_no_removal(self, server: AppliedServer) -> None:
        policy_edit.keep('[scrub]\nevery = "month"\n', server)
        wanted = target("[policy.scrub]\n", server, prune=True)
        assert wanted.changes == [] and wanted.removed == []


class TestRemoved:
    def test_port_that_joins_a_bond_is_not_removed(self, server: AppliedServer) -> None:
        applied('[network.ports.enp2s0]\naddresses = ["10.0.9.2/24"]\n', server)
        trial.confirm(server.host())
        text = '[network.bonds.bond0]\nmode = "active-backup"\nmembers = ["enp2s0"]\ndhcp = true\n'
        assert target(text, server).removed == [] and target(text, server, prune=True).removed == []

    def test_share_with_a_backup_says_so(self, server: AppliedServer, monkeypatch: pytest.MonkeyPatch) -> None:
        create_shares(["old"], {}, server.server)
        reader = SnapshotReader(address="10.0.0.7", fingerprint=":".join(["AB"] * 32))
        shares = [share.model_copy(update={"readers": [reader]}) for share in store.load().shares]
        store.change("root", "readers", lambda config: config.model_copy(update={"shares": shares}))
        backups = [SimpleNamespace(name="offsite", share="old")]
        monkeypatch.setattr("millrace.protect.backup.backup_store.load", lambda: backups)
        wanted = target("[shares.data]\n", server, prune=True)
        assert wanted.removed == ["share old (with backup offsite, replica of 10.0.0.7)"]
        assert target("[shares.data]\n", server).removed == []


class TestLines:
    TEXT = '[groups.data]\n\n[shares.train]\nsize = "1T"\nsnapshots = "none"\n\n[shares.data]\n\n[users.size]\n'

    @pytest.mark.parametrize(
        ("sentence", "line"),
        [
            ("share data is sealed: unseal it first", "server.toml:7: shares.data: "),
            ("the soft limit of train is above its size", "server.toml:3: shares.train: "),
            ("train needs the group that writes: add a group", "server.toml:3: shares.train: "),
            ("the DNS server 10.0.0.1 is used twice", "server.toml: the DNS"),
        ],
    )
    def test_sentence_has_the_line_of_the_thing_that_it_names(self, sentence: str, line: str) -> None:
        assert placed(sentence, self.TEXT).startswith(line)

    def test_key_is_no_thing(self, tmp_path: Path) -> None:
        assert placed("snapshots of other are none", self.TEXT) == "server.toml: snapshots of other are none"
