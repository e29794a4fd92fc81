# SPDX-License-Identifier: Apache-2.0
"""Sessions are listed with their place and ended by number; ssh is not turned on for nobody."""

import json
from pathlib import Path

import pytest

from millrace.lifecycle.access import ssh_switch
from millrace.lifecycle.access.sessions import disconnect, sessions
from millrace.serve.config import store
from millrace.serve.config.model import Person
from millrace.system.errors import BadInput, Refused
from millrace.system.run import Result
from tests.fakes import samples
from tests.fakes.appliance import Appliance

SHOW = "--timestamp=unix --property=Name --property=Service --property=RemoteHost --property=Timestamp --property=Class"


class Tools(samples.Tools):
    TAKEN = (
        "loginctl list-sessions --output=json",
        "loginctl show-session * *...",
        "loginctl terminate-session 4",
        "systemctl is-active --quiet ssh.service",
        "systemctl start ssh.service",
        "systemctl stop ssh.service",
    )


def of(name: str, service: str, host: str = "", kind: str = "user") -> Result:
    text = f"Name={name}\nService={service}\nRemoteHost={host}\nTimestamp=@1795953600\nClass={kind}\n"
    return Result(0, text, "")


@pytest.fixture
def tools() -> Tools:
    return Tools(
        {
            "loginctl list-sessions --output=json": Result(
                0, json.dumps([{"session": number} for number in ("4", "5", "6", "7", "../x")]), ""
            ),
            f"loginctl show-session 4 {SHOW}": of("bob", "cockpit", "10.0.0.9"),
            f"loginctl show-session 5 {SHOW}": of("admin", "sshd", "fd00::9"),
            f"loginctl show-session 6 {SHOW}": of("admin", "systemd-user", kind="manager"),
            f"loginctl show-session 7 {SHOW}": Result(1, "", "No session '7' known"),
        }
    )


def test_people_are_listed_with_place_and_address(tools: Tools) -> None:
    assert [(one.id, one.name, one.where, one.address) for one in sessions(tools)] == [
        ("4", "bob", "web console", "10.0.0.9"),
        ("5", "admin", "ssh", "fd00::9"),
    ]
    assert sessions(tools)[0].since == "2026-11-29T12:00:00+00:00"


def test_session_ends_by_its_number(tools: Tools) -> None:
    assert disconnect("4", tools) == "bob"
    assert ["loginctl", "terminate-session", "4"] in tools.calls


@pytest.mark.parametrize("number", ["--all", "", "4 5", "../x"])
def test_text_that_is_no_session_runs_nothing(tools: Tools, number: str) -> None:
    with pytest.raises(BadInput, match="give the number of a session"):
        disconnect(number, tools)
    assert tools.calls == []


def test_session_that_is_over_is_one_sentence(tools: Tools) -> None:
    with pytest.raises(Refused, match="there is no session 6 any more"):
        disconnect("6", tools)


def test_ssh_is_not_turned_on_for_nobody(appliance: Appliance, tools: Tools) -> None:
    with pytest.raises(Refused, match="no administrator has an SSH key"):
        ssh_switch.switch(True, tools)
    assert not (appliance.root / ssh_switch.MARKER).exists() and tools.calls == []


def test_ssh_is_on_until_it_is_turned_off(appliance: Appliance, tools: Tools) -> None:
    key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDtp3oVJyKl5xGkNVHtgmiVCcUuhmO1Eq9JZSdlIxkOE"
    store.change("root", "key", lambda old: old.model_copy(update={"admin": Person(keys=[key])}))
    ssh_switch.switch(True, tools)
    marker: Path = appliance.root / ssh_switch.MARKER
    assert marker.exists() and tools.calls[-1] == ["systemctl", "start", "ssh.service"]
    ssh_switch.switch(False, tools)
    assert not marker.exists() and tools.calls[-1] == ["systemctl", "stop", "ssh.service"]
