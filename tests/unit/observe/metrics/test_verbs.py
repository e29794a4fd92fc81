# SPDX-License-Identifier: Apache-2.0
"""`millrace metrics …` on a terminal and for programs."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest
from click import UsageError
from click.testing import CliRunner, Result

from millrace.cli.program import millrace
from millrace.observe.history import history_paths
from millrace.observe.metrics import endpoint
from millrace.observe.metrics.model import MetricsSettings
from millrace.system import paths
from millrace.system.documents import write_model
from millrace.system.errors import BadInput
from tests.fakes.commands import Commands
from tests.fakes.files.running import server
from tests.unit.observe.metrics.scrape import parsed, value

TOKEN = "correct-horse-battery-staple"


class Systemd(Commands):
    TAKEN: ClassVar = (
        "systemctl restart millrace-metrics.service",
        "systemctl stop millrace-metrics.service millrace-firewall@metrics.service"
        " millrace-node-exporter.socket millrace-node-exporter.service",
        "systemctl start millrace-metrics-collect.service",
    )


@pytest.fixture
def systemd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Systemd]:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    made = Systemd()
    monkeypatch.setattr("millrace.system.run.attempt", made)
    return made


def run(line: str, stdin: str = "") -> Result:
    return CliRunner().invoke(millrace, ["metrics", *line.split()], input=stdin, catch_exceptions=False)


def test_history_is_kept_although_no_metrics_are_served(tmp_path: Path) -> None:
    with server(tmp_path) as box:
        box.look()
        run("write")
        assert history_paths.history_readings_file().exists() and history_paths.history_file().exists()


def test_metrics_are_printed_and_written_while_they_are_served(tmp_path: Path) -> None:
    with server(tmp_path) as box:
        box.look()
        assert value(parsed(run("").stdout), "millrace_build_info") == 1
        assert run("write").stdout == "" and not paths.metrics_file().exists()
        endpoint.settings_file().parent.mkdir(parents=True, exist_ok=True)
        write_model(endpoint.settings_file(), MetricsSettings(addresses=["10.0.0.9/32"], token=False))
        assert run("write").stdout == ""
        # the name of a textfile, which node_exporter may read
        assert paths.metrics_file().suffix == ".prom" and paths.metrics_file().stat().st_mode & 0o777 == 0o644
        assert value(parsed(paths.metrics_file().read_text()), "millrace_build_info") == 1


def test_token_is_shown_by_on_and_never_again(systemd: Systemd) -> None:
    said = run("on").stdout
    token = said.splitlines()[1].removeprefix("Token: ")
    assert said.splitlines()[0] == (
        "Metrics are served at https://SERVER:19100/metrics to readers at any address, with the token."
    )
    assert len(token) > 40 and said.endswith("It is not shown again.\n")
    assert token not in run("status").stdout + run("status --json").stdout
    assert run("off").stdout == run("status").stdout == "Metrics are not served: millrace metrics on\n"


def test_own_token_comes_by_standard_input(systemd: Systemd) -> None:
    settings = json.loads(run("on --token-stdin --from 10.1.0.9 --json", f"{TOKEN}\n").stdout)
    assert settings == {
        "schema_version": 1,
        "enabled": True,
        "port": 19100,
        "addresses": ["10.1.0.9/32"],
        "token": True,
        "new_token": None,
    }
    shown = run("status").stdout
    assert shown.endswith("to readers at 10.1.0.9/32, with the token.\n")


def test_new_token_is_shown_and_the_addresses_stay(systemd: Systemd) -> None:
    run("on --token-stdin --from 10.1.0.9", f"{TOKEN}\n")
    found = json.loads(run("on --new-token --from 10.1.0.9 --json").stdout)
    assert found["addresses"] == ["10.1.0.9/32"] and found["token"] and len(found["new_token"]) > 40


def test_given_and_made_token_at_once_are_wrong_usage(systemd: Systemd) -> None:
    with pytest.raises(UsageError, match="cannot be combined"):
        CliRunner().invoke(
            millrace,
            ["metrics", "on", "--token-stdin", "--new-token"],
            input=f"{TOKEN}\n",
            standalone_mode=False,
            catch_exceptions=False,
        )
    assert systemd.calls == []


def test_empty_token_is_refused(systemd: Systemd) -> None:
    with pytest.raises(BadInput, match="a token has 24 to 200"):
        run("on --token-stdin", "\n")
