# SPDX-License-Identifier: Apache-2.0
"""`millrace volume` on the command line: one sentence where it refuses, secrets by standard input alone."""

import io
import json
import sys

import pytest

from millrace.cli import program
from millrace.serve.volume import edit, serve
from tests.unit.serve.volume.conftest import HOST, Nas
from tests.unit.serve.volume.test_edit import SECRET


@pytest.fixture
def here(nas: Nas, monkeypatch: pytest.MonkeyPatch) -> Nas:
    monkeypatch.setattr(serve, "this_server", nas.server)
    monkeypatch.setattr(serve, "this_volumes", nas.volumes)
    for name in ("create", "resize", "clone", "export_volume", "detach", "remove"):
        function = getattr(edit, name)
        monkeypatch.setattr(edit, name, lambda *words, function=function: function(*words, nas.volumes))
    return nas


def test_volume_is_created_shown_and_removed(here: Nas, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        program.run(
            ["volume", "create", "tank", "--size", "1M", "--export", "tcp", "--host", HOST, "--address", "10.0.0.9"]
        )
        == 0
    )
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "volume tank is created: 1.05 MB"
    assert said[1].startswith("nvme connect -t tcp -a 10.0.0.2 -s 4420 -n nqn.2014-08.org.nvmexpress:uuid:")
    assert program.run(["volume", "list"]) == 0
    assert "tcp port 4420, no host is connected" in capsys.readouterr().out
    here.connect(4420)
    assert program.run(["volume", "show", "tank", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["schema_version"], shown["volume"]["connected"][0]["address"]) == (1, "10.0.0.9")
    assert program.run(["volume", "remove", "tank", "--delete-data", "tank"]) == 1
    assert capsys.readouterr().err.count("\n") == 1
    here.connect()
    assert program.run(["volume", "remove", "tank", "--delete-data", "tank"]) == 0


def test_secret_comes_from_standard_input_and_is_never_printed(
    here: Nas, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = [
        "volume",
        "create",
        "tank",
        "--size",
        "1M",
        "--export",
        "tcp",
        "--host",
        HOST,
        "--address",
        "10.0.0.9",
        "--dhchap-stdin",
    ]
    monkeypatch.setattr(sys, "stdin", io.StringIO("DHHC-1:00:mistyped:\n"))
    assert program.run([*words, "--json"]) == 2
    assert "mistyped" not in capsys.readouterr().err
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{SECRET}\n"))
    assert program.run([*words, "--json"]) == 0
    assert SECRET not in capsys.readouterr().out
    assert here.tree.read(f"hosts/{HOST}/dhchap_key") == SECRET


def test_removal_without_a_terminal_needs_the_name(here: Nas, capsys: pytest.CaptureFixture[str]) -> None:
    program.run(["volume", "create", "tank", "--size", "1M"])
    assert program.run(["volume", "remove", "tank"]) == 2
    assert "use --delete-data NAME" in capsys.readouterr().err


@pytest.mark.parametrize("option", [["--host", HOST], ["--address", "10.0.0.9"], ["--shared"], ["--dhchap-stdin"]])
def test_options_of_an_export_need_one(here: Nas, option: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert program.run(["volume", "create", "tank", "--size", "1M", *option]) == 2
    assert "add --export tcp or rdma" in capsys.readouterr().err
    assert serve.rows(here.volumes()) == []
