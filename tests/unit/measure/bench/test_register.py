# SPDX-License-Identifier: Apache-2.0
"""Clients are added once they answer and their fio works; nothing is kept where not."""

import stat
from pathlib import Path

import pytest
from click.testing import CliRunner

from millrace.measure.bench.plan import clients
from millrace.measure.bench.result import store as results
from millrace.measure.bench.run.remote import register, tokens
from millrace.measure.bench.run.remote.connection import Unreachable
from millrace.measure.bench.run.remote.register import NOTHING
from millrace.measure.bench.verbs import bench
from millrace.system.errors import BadInput
from millrace_client import VERSION, listen, sealed
from tests.unit.measure.bench.remotes import FACTS, HERE, TOKEN, client, listening


def test_a_client_that_answers_is_added_and_listed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with listening(monkeypatch) as calls:
        made = register.add("localhost", TOKEN)
    assert (made.name, made.address, made.facts.cpus) == ("localhost", HERE, 4)
    assert [registered.name for registered in clients.load().clients] == ["localhost"]
    # fio was there for a moment only, contained
    (start,) = [call for call in calls if call[0] == "systemd-run"]
    contained = {"DynamicUser=yes", "IPAddressDeny=any", f"IPAddressAllow={HERE}", "CapabilityBoundingSet="}
    assert {f"--property={setting}" for setting in contained} <= set(start)
    assert start[-4:] == [*listen.FIO, NOTHING]
    assert ["systemctl", "stop", listen.UNIT] in calls[calls.index(start) :]
    assert register.remove("localhost").clients == []
    assert tokens.of("localhost") is None
    with pytest.raises(BadInput, match="localhost is not a benchmark client: `millrace bench clients add"):
        register.remove("localhost")


def test_a_client_that_is_not_there_is_one_sentence_and_not_kept(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with listening(monkeypatch):
        pass
    refused = r"does not answer on port \d+ \(Connection refused\): run `python3 millrace-bench.pyz --listen"
    with pytest.raises(Unreachable, match=refused):
        register.add(HERE, TOKEN)
    with pytest.raises(BadInput, match=r"no-such-host\.invalid does not resolve"):
        register.add("no-such-host.invalid", TOKEN)
    assert not clients.file().exists()


def test_a_client_whose_program_was_started_again_is_added_again(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with listening(monkeypatch):
        register.add("localhost", TOKEN.upper().replace("-", " "))
    with listening(monkeypatch, {**FACTS, "cpus": 9}):
        register.add("localhost", TOKEN)
    assert [one.facts.cpus for one in clients.load().clients] == [9]


def test_a_fio_that_does_not_work_is_one_sentence_and_not_kept(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with listening(monkeypatch, report="illegal instruction") as calls, pytest.raises(Unreachable) as why:
        register.add(HERE, TOKEN)
    assert str(why.value) == f"fio-3.41 of client {HERE} does not work: fio ended without a report (status 0)"
    assert not clients.file().exists() and not tokens.file().exists()
    assert calls[-1] == ["systemctl", "stop", listen.UNIT]


def test_another_version_of_the_program_is_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = {**client().facts.model_dump(), "program": 7}
    with listening(monkeypatch, other), pytest.raises(Unreachable, match="another version"):
        register.add(HERE, TOKEN)
    wrong = {"program": VERSION, "hello": "world"}
    with listening(monkeypatch, wrong), pytest.raises(Unreachable, match="is not the program of"):
        register.add(HERE, TOKEN)


def test_only_clients_that_were_added_are_driven(root: Path) -> None:
    with pytest.raises(BadInput, match="gpu9 is not a benchmark client"):
        clients.chosen(["gpu9"])
    assert not results.home().exists()


@pytest.mark.parametrize("typed", ["", "abcd", TOKEN + "x", TOKEN.replace("a", "0"), "é" * 20, "a" * 100_000])
def test_what_is_no_token_is_one_sentence(root: Path, typed: str) -> None:
    with pytest.raises(BadInput, match="a token has 5 groups of 4 letters and digits"):
        register.add(HERE, typed)


def test_the_token_is_asked_for_and_kept_for_root_alone(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["clients", "add", HERE, "--token-stdin", "--json"]
    with listening(monkeypatch):
        said = CliRunner().invoke(bench, words, input=f"{TOKEN}\n")
    assert said.exit_code == 0, said.output
    assert TOKEN[:4] not in clients.file().read_text() + said.output
    assert stat.S_IMODE(tokens.file().stat().st_mode) == 0o600
    assert tokens.of(HERE) == sealed.plain_token(TOKEN)


def test_a_kept_client_is_listed_without_its_token() -> None:
    assert "token" not in client().model_dump_json()
