# SPDX-License-Identifier: Apache-2.0
"""The endpoint is off until an administrator says who may read; its token is kept as a hash."""

import stat
from pathlib import Path
from typing import ClassVar

import pytest

from millrace.observe.metrics import endpoint
from millrace.observe.metrics.model import TokenHash
from millrace.system import paths
from millrace.system.documents import read_model
from millrace.system.errors import BadInput, Failed
from millrace.system.run import Result
from tests.fakes.commands import Commands

TOKEN = "correct-horse-battery-staple"
RESTART = "systemctl restart millrace-metrics.service"
STOP = (
    "systemctl stop millrace-metrics.service millrace-firewall@metrics.service"
    " millrace-node-exporter.socket millrace-node-exporter.service"
)
COLLECT = "systemctl start millrace-metrics-collect.service"


class Systemd(Commands):
    TAKEN: ClassVar = (RESTART, STOP, COLLECT)


@pytest.fixture(autouse=True)
def systemd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Systemd:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    return Systemd()


def kept_hash() -> str | None:
    return read_model(endpoint.token_file(), TokenHash).sha256


def test_server_of_which_nobody_decided_is_off() -> None:
    found = endpoint.status()
    assert (found.enabled, found.port, found.addresses, found.token) == (False, 19100, [], False)


def test_token_is_made_and_shown_once_and_kept_as_a_hash(systemd: Systemd) -> None:
    made = endpoint.turn_on([], None, systemd)
    assert made.enabled and made.token and made.new_token and len(made.new_token) > 40
    assert kept_hash() == endpoint.digest(made.new_token)
    assert stat.S_IMODE(endpoint.token_file().stat().st_mode) == 0o600
    assert made.new_token not in "".join(one.read_text() for one in paths.metrics_dir().iterdir())
    assert made.new_token not in str(systemd.calls) + str(systemd.stdin)
    assert endpoint.status().new_token is None
    assert [" ".join(one) for one in systemd.calls] == [RESTART, COLLECT]


def test_each_token_that_is_made_is_another(systemd: Systemd) -> None:
    assert endpoint.turn_on([], None, systemd).new_token != endpoint.turn_on([], None, systemd).new_token


def test_own_token_is_not_shown(systemd: Systemd) -> None:
    made = endpoint.turn_on([], TOKEN, systemd)
    assert (made.token, made.new_token) == (True, None) and kept_hash() == endpoint.digest(TOKEN)


def test_addresses_need_no_token_unless_one_is_given(systemd: Systemd) -> None:
    made = endpoint.turn_on(["10.1.0.9", "10.2.0.0/16", "fd00::/64", "10.1.0.9/32"], None, systemd)
    assert made.addresses == ["10.1.0.9/32", "10.2.0.0/16", "fd00::/64"]
    assert (made.token, made.new_token, kept_hash()) == (False, None, None)
    both = endpoint.turn_on(["10.1.0.9"], TOKEN, systemd)
    assert both.token and both.addresses == ["10.1.0.9/32"] and kept_hash() == endpoint.digest(TOKEN)


def test_token_is_made_for_addresses_where_it_is_asked_for(systemd: Systemd) -> None:
    first = endpoint.turn_on(["10.1.0.9"], None, systemd, new_token=True)
    second = endpoint.turn_on(["10.1.0.9"], None, systemd, new_token=True)
    assert (second.token, second.addresses) == (True, ["10.1.0.9/32"])
    assert first.new_token and second.new_token and first.new_token != second.new_token
    assert kept_hash() == endpoint.digest(second.new_token)


@pytest.mark.parametrize(
    "address", ["fe80::1%eth0", "10.1.0.9/24", "host", "", "10.1.0.0/33", "0.0.0.0/0/0", "10.1.0.9\n"]
)
def test_address_that_is_none_is_refused_and_nothing_changes(systemd: Systemd, address: str) -> None:
    with pytest.raises(BadInput, match=r"is not an address or a network: write it like 10\.1\.0\.9 or 10\.1\.0\.0/24$"):
        endpoint.turn_on(["10.1.0.1", address], None, systemd)
    assert systemd.calls == [] and not endpoint.status().enabled


@pytest.mark.parametrize("every", ["0.0.0.0/0", "::/0"])
def test_every_address_without_a_token_is_refused(systemd: Systemd, every: str) -> None:
    with pytest.raises(BadInput, match=r"is every address: leave out --from and use a token$"):
        endpoint.turn_on([every], None, systemd)
    assert systemd.calls == [] and not endpoint.status().enabled


@pytest.mark.parametrize("token", ["", "short", "x" * 23, "x" * 201, "with blank " * 3, "ü" * 30, "x" * 30 + "\x07"])
def test_token_that_could_be_guessed_or_not_be_sent_is_refused(systemd: Systemd, token: str) -> None:
    with pytest.raises(BadInput, match="a token has 24 to 200 printable ASCII characters") as refused:
        endpoint.turn_on([], token, systemd)
    assert not token or token not in str(refused.value)
    assert systemd.calls == [] and not endpoint.status().enabled


def test_number_of_addresses_is_bounded(systemd: Systemd) -> None:
    with pytest.raises(BadInput, match="at most 64 addresses"):
        endpoint.turn_on([f"10.1.0.{number}" for number in range(65)], None, systemd)


def test_off_leaves_no_hash_and_no_metrics(systemd: Systemd) -> None:
    endpoint.turn_on([], TOKEN, systemd)
    paths.metrics_file().parent.mkdir(parents=True, exist_ok=True)
    paths.metrics_file().write_text("# EOF\n")
    assert not endpoint.turn_off(systemd).enabled
    assert list(paths.metrics_dir().glob("*.json")) == [] and not paths.metrics_file().exists()
    assert " ".join(systemd.calls[-1]) == STOP
    assert not endpoint.turn_off(systemd).enabled


def test_service_that_does_not_start_is_a_failure(systemd: Systemd) -> None:
    systemd.broken[RESTART] = Result(1, "", "Unit is masked.")
    with pytest.raises(Failed, match="Unit is masked"):
        endpoint.turn_on([], None, systemd)
