# SPDX-License-Identifier: Apache-2.0
"""A file is applied as a whole, once; what it does not name stays, or is pruned."""

from pathlib import Path

import pytest

from millrace.cli.apply.reading import FileProblems
from millrace.observe.alert import routes
from millrace.plan.policy.policy_in_force import in_force
from millrace.serve.account import edit
from millrace.serve.config import store
from millrace.serve.network import trial
from millrace.serve.share.edit import create_shares
from millrace.system.errors import Failed, Refused
from millrace.system.run import Result
from tests.unit.cli.apply.server import WHOLE, AppliedServer, applied, exported, target

PEOPLE = "[users.anna]\n[groups.ml]\n[access.admin]\n"


def names() -> list[str]:
    return [share.name for share in store.load().shares]


def things(text: str, server: AppliedServer, prune: bool = False) -> list[str]:
    return [f"{change.action} {change.thing}" for change in target(text, server, prune).changes]


class TestApply:
    def test_whole_file_is_applied_as_one_change_of_the_state(self, server: AppliedServer) -> None:
        done = applied(WHOLE, server)
        assert done.serial == 1 and names() == ["data", "train"]
        train = store.load().share("train")
        assert train is not None and train.size == 10 << 40 and train.smb.users == [] and train.snapshots is not None
        assert server.exported()["/srv/pool/train"].startswith("10.0.0.0/24")
        assert in_force().scrub.every == "week" and [route.name for route in routes.load()] == ["ops"]
        assert sorted(done.without_password) == ["anna", "eve"] and done.confirm_seconds == 60
        assert server.addresses["enp2s0"] == ["10.0.9.2/24"] and store.load().ports == []
        trial.confirm(server.host())
        assert store.load().ports[0].addresses == ["10.0.9.2/24"]

    def test_second_time_changes_nothing(self, server: AppliedServer) -> None:
        applied(WHOLE, server)
        trial.confirm(server.host())
        before = store.load()
        server.calls.clear()
        again = applied(WHOLE, server)
        assert again.changes == [] and not again.applied and store.load() == before
        assert not server.called("systemctl") and not server.called("exportfs -ra")

    def test_what_the_file_does_not_name_stays(self, server: AppliedServer) -> None:
        create_shares(["old"], {"comment": "kept", "size": "1T"}, server.server)
        applied('[shares.old]\nsize = "2T"\n', server)
        old = store.load().share("old")
        assert names() == ["data", "old"] and old is not None
        assert (old.comment, old.size) == ("kept", 2 << 40)

    def test_nothing_is_written_before_it_is_applied(self, server: AppliedServer) -> None:
        wanted = target(WHOLE, server)
        assert len(wanted.changes) == 9 and names() == ["data"] and not server.called("systemctl")

    def test_state_that_changes_meanwhile_is_not_overwritten(self, server: AppliedServer) -> None:
        from millrace.cli.apply import change, reading

        read = reading.parse("[shares.new]\n", Path("f"))
        wanted = change.outcome(read, False, server.host())
        create_shares(["between"], {}, server.server)
        with pytest.raises(Refused, match="another change came between"):
            change.apply(read, wanted, server.host())
        assert names() == ["data", "between"]


class TestRollback:
    def test_share_that_cannot_be_served_leaves_all_as_it_was(self, server: AppliedServer) -> None:
        server.broken["exportfs -s"] = Result(0, "", "")
        with pytest.raises(Refused, match="nothing was changed"):
            applied(WHOLE, server)
        assert names() == ["data"] and routes.load() == [] and in_force().scrub.every == "month"
        assert "anna" not in server.accounts["passwd"] and not (server.root / "etc/millrace/policy.toml").exists()

    def test_file_in_the_place_of_a_share_rolls_the_policy_back(self, server: AppliedServer) -> None:
        (server.root / "srv/pool/train").touch()
        with pytest.raises(Refused, match="nothing was changed"):
            applied(WHOLE, server)
        assert names() == ["data"] and in_force().scrub.every == "month" and routes.load() == []

    def test_network_that_does_not_come_up_rolls_the_rest_back(self, server: AppliedServer) -> None:
        server.taken = {"10.0.9.2/24"}
        with pytest.raises(Refused, match="nothing was changed"):
            applied(WHOLE, server)
        assert names() == ["data"] and store.load().users == [] and routes.load() == []
        assert server.addresses["enp2s0"] == ["10.0.1.2/24"]

    def test_pruned_user_and_a_replaced_hash_have_their_passwords_back(self, server: AppliedServer) -> None:
        old, new = (f'password_hash = "$y$j9T$s$h{digit}"\nsmb_hash = "{digit * 32}"\n' for digit in ("1", "2"))
        applied(f"[users.anna]\n{old}[users.bob]\n{old}", server)
        server.taken = {"10.0.9.2/24"}
        with pytest.raises(Refused, match="nothing was changed"):
            applied(f'[users.bob]\n{new}[network.ports.enp2s0]\naddresses = ["10.0.9.2/24"]\n', server, prune=True)
        assert [user.name for user in store.load().users] == ["anna", "bob"]
        assert things(f"[users.anna]\n{old}[users.bob]\n{old}", server) == []

    def test_policy_that_cannot_be_applied_is_put_back(self, server: AppliedServer) -> None:
        server.broken["systemctl try-reload-or-restart millrace-tune.service"] = Result(1, "", "broken")
        with pytest.raises((Failed, Refused), match="millrace-tune"):
            applied("[policy.nfsd]\nthreads = 32\n[shares.new]\n", server)
        assert names() == ["data"] and in_force().nfsd.threads is None


class TestPrune:
    def test_sections_of_the_file_are_pruned_and_no_others(self, server: AppliedServer) -> None:
        edit.create_group("ml", server)
        edit.create_user("anna", [], "s3cret-word-2", server)
        create_shares(["old"], {}, server.server)
        assert things("[shares.data]\n", server, prune=True) == ["remove share old"]
        done = applied("[shares.data]\n", server, prune=True)
        assert names() == ["data"] and store.load().user("anna") is not None
        assert "the data stays in /srv/pool/old" in done.warnings and (server.root / "srv/pool/old").is_dir()

    def test_without_prune_nothing_is_removed(self, server: AppliedServer) -> None:
        create_shares(["old"], {}, server.server)
        assert things("[shares.data]\n", server) == []

    def test_users_groups_and_policy_keys_are_pruned(self, server: AppliedServer) -> None:
        applied(WHOLE, server)
        trial.confirm(server.host())
        text = "[access.admin]\n[users]\n[groups]\n[shares.data]\n[alert_routes]\n[policy.scrub]\n"
        applied(f"{text}[network]\nports = {{}}\n", server, prune=True)
        trial.confirm(server.host())
        config = store.load()
        assert (config.users, config.groups, config.ports) == ([], [], [])
        assert names() == ["data"] and routes.load() == [] and in_force().scrub.every == "month"

    def test_sealed_share_is_not_pruned(self, server: AppliedServer) -> None:
        create_shares(["gold"], {"type": "dataset-ro"}, server.server)
        sealed = [share.model_copy(update={"sealed": share.name == "gold"}) for share in store.load().shares]
        store.change("root", "seal", lambda config: config.model_copy(update={"shares": sealed}))
        with pytest.raises(FileProblems, match="gold is sealed"):
            target("[shares.data]\n", server, prune=True)
        assert names() == ["data", "gold"]


class TestAccounts:
    def test_last_administrator_is_not_locked_out(self, server: AppliedServer) -> None:
        with pytest.raises(FileProblems, match=r"server\.toml.*the last administrator who can sign in"):
            target("[access.admin]\nlocked = true\n", server)
        assert store.load().administrators == ["admin"]

    def test_administrator_without_a_password_replaces_nobody(self, server: AppliedServer) -> None:
        with pytest.raises(Refused, match="last administrator who can sign in"):
            applied('[access.admin]\nlocked = true\n[access.eve]\nrole = "administrator"\n', server)
        assert "eve" not in server.accounts["passwd"] and store.load().administrators == ["admin"]

    def test_password_comes_from_a_file_and_is_set_once(self, server: AppliedServer, tmp_path: Path) -> None:
        secret = tmp_path / "anna.password"
        secret.write_text("s3cret-word-2\n")
        secret.chmod(0o600)
        text = f'[users.anna]\npassword_file = "{secret}"\n'
        assert applied(text, server).without_password == [] and "anna" in server.smb_accounts
        assert things(text, server) == []

    @pytest.mark.parametrize(
        ("mode", "words", "sentence"),
        [
            (0o644, "s3cret-word-2", "is readable for others: chmod 600"),
            (0o600, "", "has no secret"),
            (0o600, "anna-anna-anna-1", "contains the user name"),
        ],
    )
    def test_password_file_that_is_not_to_be_trusted(
        self, server: AppliedServer, tmp_path: Path, mode: int, words: str, sentence: str
    ) -> None:
        secret = tmp_path / "anna.password"
        secret.write_text(words)
        secret.chmod(mode)
        with pytest.raises(FileProblems, match=rf"server\.toml:2: users\.anna\.password_file: .*{sentence}"):
            target(f'[users.anna]\npassword_file = "{secret}"\n', server)
        assert store.load().users == []

    def test_hashes_are_set_where_they_differ(self, server: AppliedServer) -> None:
        text = f'[users.anna]\npassword_hash = "$y$j9T$salt$hash"\nsmb_hash = "{"A1" * 16}"\n'
        assert things(text, server) == ["create user anna", "change password of anna"]
        assert applied(text, server).without_password == [] and server.nt_hashes["anna"] == "A1" * 16
        assert things(text, server) == []
        assert things(text.replace("A1A1", "B2B2"), server) == ["change password of anna"]

    def test_two_new_accounts_have_two_numbers(self, server: AppliedServer) -> None:
        applied('[users.anna]\n[users.bob]\n[groups.ml]\n[access.eve]\nrole = "viewer"\n', server)
        config = store.load()
        numbers = {user.uid for user in config.users} | {group.gid for group in config.groups}
        assert len(numbers) == 4


class TestSecrets:
    def test_webhook_has_its_url_from_a_file(self, server: AppliedServer, tmp_path: Path) -> None:
        secret = tmp_path / "hook"
        secret.write_text("https://chat.example.com/hooks/s3cret\n")
        secret.chmod(0o600)
        text = f'[alert_routes.chat]\nkind = "webhook"\nsecret_file = "{secret}"\n'
        applied(text, server)
        assert routes.secrets_of_routes() == {"chat": "https://chat.example.com/hooks/s3cret"}
        assert things(text, server) == []
        secret.write_text("https://chat.example.com/hooks/another\n")
        assert things(text, server) == ["change secret of alert route chat"]
        assert "s3cret" not in exported()


class TestFixedPoint:
    def test_export_applied_changes_nothing(self, server: AppliedServer) -> None:
        applied(WHOLE, server)
        trial.confirm(server.host())
        assert things(exported(), server, prune=True) == []

    @pytest.mark.parametrize(
        "text",
        [
            "",
            WHOLE,
            PEOPLE,
            '[shares.a]\ntype = "home"\nnfs.enabled = false\n',
            '[shares.b]\ntype = "dataset-ro"\nchild_size = "none"\nsnapshots = "none"\n',
            '[shares.c]\nsize = "3T"\nsoft_size = "2500G"\nwriting = "some"\ngroup = "ml"\n[groups.ml]\n',
            '[shares.d]\nnfs.enabled = false\n[shares.d.smb]\ntime_machine = true\nencryption = "required"\n',
            '[network]\nntp = ["ntp.example.com"]\nsearch = ["example.com"]\n[network.vlans.vlan20]\nvlan = 20\n'
            'parent = "enp2s0"\naddresses = ["10.20.0.2/24"]\n',
            '[network.bonds.bond0]\nmode = "active-backup"\nmembers = ["enp1s0", "enp2s0"]\ndhcp = true\n',
            '[network]\nmanagement = ["enp2s0"]\n',
            '[alert_routes.log]\nkind = "syslog"\ndaily = "08:00"\n[alert_routes.siem]\nkind = "syslog"\n'
            'server = "[2001:db8::1]:601"\nsecurity = "none"\n',
            '[policy.nfs]\nnetworks = ["10.2.0.0/16", "10.1.0.0/16"]\n[policy.snapshots]\nfree = 20\n',
        ],
    )
    def test_applied_twice_is_applied_once_and_its_export_says_the_same(self, server: AppliedServer, text: str) -> None:
        applied(text, server)
        if store.load() and trial.trial_record.is_open(trial.trial_record.last()):
            trial.confirm(server.host())
        before = store.load()
        assert things(text, server) == []
        assert things(exported(), server, prune=True) == []
        assert store.load() == before
