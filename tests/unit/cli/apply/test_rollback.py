# SPDX-License-Identifier: Apache-2.0
"""What a file changed is put back as a whole, and never over the change of another administrator."""

import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from millrace.cli.apply import change, reading
from millrace.cli.apply.report import ApplyReport
from millrace.observe.alert import routes
from millrace.observe.alert.model import Security
from millrace.plan.policy import edit as policy_edit
from millrace.plan.policy.policy_in_force import in_force
from millrace.serve.account import accounts
from millrace.serve.config import store
from millrace.serve.network import trial
from millrace.serve.network.trial import NetworkServer
from millrace.serve.share.edit import create_shares
from millrace.system.account_files import AccountFiles
from millrace.system.errors import Failed, Refused
from tests.unit.cli.apply.server import FILE, WHOLE, AppliedServer, applied

TAKEN = '[network.ports.enp2s0]\naddresses = ["10.0.9.2/24"]\n'


def names() -> list[str]:
    return [share.name for share in store.load().shares]


def during_trial(server: AppliedServer, step: Callable[[], object]) -> NetworkServer:
    """The server where something happens before a network is tried."""

    def start(_: object) -> None:
        step()
        trial.apply(made)

    made = replace(server.host(), start=start)
    return made


def tried(text: str, host: NetworkServer, say: Callable[[str], None] = lambda line: None) -> ApplyReport:
    read = reading.parse(text, FILE)
    return change.apply(read, change.outcome(read, False, host), host, say)


@pytest.fixture(autouse=True)
def at_a_terminal() -> Iterator[None]:
    """A process of the background ignores Ctrl-C, and so does what it starts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def kill(number: signal.Signals) -> Callable[..., None]:
    return lambda *_: os.kill(os.getpid(), number)


class TestAnotherChange:
    def test_state_that_another_administrator_changed_is_not_rolled_back(self, server: AppliedServer) -> None:
        server.taken = {"10.0.9.2/24"}
        host = during_trial(server, lambda: create_shares(["between"], {}, server.server))
        with pytest.raises(Failed, match=r"change 2 \(share create between, by .*\) came after change 1 of this file"):
            tried(WHOLE, host)
        assert names() == ["data", "train", "between"] and store.load().user("anna") is not None
        # what nobody else touched is as it was
        assert in_force().scrub.every == "month" and routes.load() == []

    def test_policy_that_was_changed_meanwhile_stays(self, server: AppliedServer) -> None:
        server.taken = {"10.0.9.2/24"}
        text = '[scrub]\nevery = "week"\n\n[nfsd]\nthreads = 32\n'
        host = during_trial(server, lambda: policy_edit.keep(text, server))
        with pytest.raises(Failed, match="the policy was changed after that"):
            tried(WHOLE, host)
        assert in_force().nfsd.threads == 32 and names() == ["data"]

    def test_routes_that_were_changed_meanwhile_stay(self, server: AppliedServer) -> None:
        server.taken = {"10.0.9.2/24"}
        log = routes.syslog_route("log", None, Security.TLS, None)
        host = during_trial(server, lambda: routes.add(log, None, server))
        with pytest.raises(Failed, match="alert routes were changed after that"):
            tried(WHOLE, host)
        assert [route.name for route in routes.load()] == ["ops", "log"] and names() == ["data"]


class TestInterruption:
    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP, signal.SIGTERM])
    def test_interrupted_change_leaves_all_as_it_was(self, server: AppliedServer, number: signal.Signals) -> None:
        before = signal.getsignal(number)
        with pytest.raises(Refused, match=rf"interrupted \({number.name}\); nothing was changed"):
            tried(WHOLE, server.host(), kill(number))
        assert names() == ["data"] and routes.load() == [] and in_force().scrub.every == "month"
        assert "anna" not in server.accounts["passwd"] and signal.getsignal(number) == before

    def test_one_at_the_end_of_the_change_waits_until_it_can_be_undone(
        self, server: AppliedServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(accounts, "remove_unwanted", kill(signal.SIGHUP))
        with pytest.raises(Refused, match=r"interrupted \(SIGHUP\); nothing was changed"):
            tried("[users.anna]\n[shares.train]\n", server.host())
        assert names() == ["data"] and store.load().users == [] and store.load().serial == 2

    def test_session_that_ends_with_the_old_network_interrupts_nothing(self, server: AppliedServer) -> None:
        done = tried(f"[shares.train]\n{TAKEN}", during_trial(server, kill(signal.SIGHUP)))
        assert done.confirm_seconds == 60 and names() == ["data", "train"]

    def test_state_that_cannot_be_written_is_undone(
        self, server: AppliedServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        kept = store._keep

        def full(*_: object) -> None:
            monkeypatch.setattr(store, "_keep", kept)
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(store, "_keep", full)
        with pytest.raises(Refused, match=r"No space left on device.*; nothing was changed"):
            applied("[users.anna]\n[shares.train]\n", server)
        assert names() == ["data"] and "anna" not in server.accounts["passwd"]
        assert "/srv/pool/train" not in server.exported()


class TestPasswords:
    @pytest.mark.parametrize("broken", ["network", "interrupt"])
    def test_first_password_is_undone(self, server: AppliedServer, tmp_path: Path, broken: str) -> None:
        applied("[users.anna]\n", server)
        secret = tmp_path / "anna.password"
        secret.write_text("s3cret-word-2\n")
        secret.chmod(0o600)
        server.taken = {"10.0.9.2/24"} if broken == "network" else set()
        say = kill(signal.SIGINT) if broken == "interrupt" else lambda line: None
        text = f'[users.anna]\npassword_file = "{secret}"\n[users.bob]\n{TAKEN}'
        with pytest.raises(Refused, match="nothing was changed"):
            tried(text, server.host(), say)
        assert AccountFiles().password("anna") == "!" and "anna" not in server.smb_accounts

    def test_password_of_a_locked_account_is_not_replaced(self, server: AppliedServer, tmp_path: Path) -> None:
        secret = tmp_path / "eve.password"
        secret.write_text("s3cret-word-2\n")
        secret.chmod(0o600)
        text = f'[access.eve]\nrole = "viewer"\nlocked = true\npassword_file = "{secret}"\n'
        applied(text, server)
        # as at each boot
        accounts.ensure(store.load().users, [], server)
        assert AccountFiles().password("eve").startswith("!$")
        read = reading.parse(text, FILE)
        assert change.outcome(read, False, server.host()).changes == []
