# SPDX-License-Identifier: Apache-2.0
"""The fake servers refuse command lines that they do not know."""

from pathlib import Path
from typing import Any

import pytest

from millrace.system import paths
from millrace.system.run import Result
from tests.fakes.appliance import Appliance
from tests.fakes.commands import Commands, UnknownCommand, takes
from tests.fakes.files.tools import Tools as PluginTools
from tests.fakes.files.trees import nothing_found
from tests.fakes.samples import Tools
from tests.unit.measure.bench.tools import Tools as BenchTools
from tests.unit.serve.join.member import Member
from tests.unit.serve.network.network import Network
from tests.unit.storage.plans import raid6_plan
from tests.unit.storage.server import server_for
from tests.unit.tune.machine import Machine

MISSPELT = (
    ["exportfs", "-rra"],
    ["systemctl", "relaod", "nfs-server.service"],
    ["smbcontrl", "smbd", "reload-config"],
    ["mdadm", "--stpo", "/dev/md127"],
    ["mdadm", "--assemble", "--scan"],
    ["smbstatus", "--jsno"],
    ["ethtool", "-l", "ens1np0"],
    ["timeout", "60", "mount", "-t", "nfs3", "127.0.0.1:/", "/mnt"],
)


def fake(name: str, root: Path) -> Any:
    """The runner of a room's fake server below `root`."""
    if name == "provision":
        return server_for(raid6_plan()).attempt
    if name == "inventory":
        return nothing_found
    rooted = {"share": Appliance, "domain": Member, "port": Network, "tune": Machine}
    plain = {"samples": Tools, "bench": BenchTools}
    if name == "plugin":
        return PluginTools(0)
    return rooted[name](root) if name in rooted else plain[name]()


@pytest.mark.parametrize("argv", MISSPELT, ids=" ".join)
@pytest.mark.parametrize(
    "name", ["share", "domain", "port", "tune", "samples", "bench", "plugin", "provision", "inventory"]
)
def test_a_misspelt_command_fails_and_is_named(
    name: str, argv: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    words = argv[2:] if argv[0] == "timeout" else argv
    with pytest.raises(UnknownCommand, match=" ".join(words)):
        fake(name, tmp_path)(argv)


@pytest.mark.parametrize(
    ("pattern", "line", "fits"),
    [
        ("systemctl start *.service", "systemctl start smbd.service", True),
        ("systemctl start *.service", "systemctl start smbd.service nmbd.service", False),
        ("systemctl stop *.service ...", "systemctl stop smbd.service nmbd.service", True),
        ("systemctl stop *.service ...", "systemctl stop", False),
        ("exportfs -ra", "exportfs -r", False),
        ("mdadm --stop /dev/md?", "mdadm --stop /dev/md12", False),
        ("mkfs.xfs -K [-f] /dev/*", "mkfs.xfs -K /dev/a", True),
        ("mkfs.xfs -K [-f] /dev/*", "mkfs.xfs -K -f /dev/a", True),
        ("mkfs.xfs -K [-f] /dev/*", "mkfs.xfs -K -F /dev/a", False),
        ("mkfs.xfs -K", "mkfsxxfs -K", False),
        ("mdadm --create * /dev/*...", "mdadm --create x /dev/a /dev/b", True),
        ("mdadm --create * /dev/*...", "mdadm --create x", False),
        ("mdadm --create * /dev/*...", "mdadm --create x /dev/a --force", False),
    ],
)
def test_a_pattern_fits_word_by_word(pattern: str, line: str, fits: bool) -> None:
    assert takes(pattern, line.split()) is fits


class Exports(Commands):
    TAKEN = ("exportfs -ra", "exportfs -s")

    def _exportfs(self, words: list[str], stdin: str) -> Result:
        return Result(0, "/srv/pool\n", "")


def test_planted_fault_answers_in_the_place_of_the_tool() -> None:
    tools = Exports()
    tools.broken = {"exportfs": Result(1, "", "broken"), "exportfs -s": tools.works}
    assert (tools(["exportfs", "-ra"]).status, tools(["exportfs", "-s"]).out) == (1, "/srv/pool\n")


def test_broken_tool_takes_no_unknown_option() -> None:
    tools = Exports()
    tools.broken["exportfs"] = Result(1, "", "broken")
    with pytest.raises(UnknownCommand):
        tools(["exportfs", "-rra"])


def test_every_call_is_kept_and_a_time_limit_is_not_part_of_the_line() -> None:
    tools = Exports()
    assert tools(["timeout", "60", "exportfs", "-ra"]).status == 0
    assert tools.calls == [["timeout", "60", "exportfs", "-ra"]]
    assert tools.called("exportfs") == ["exportfs -ra"]
    assert tools.called("timeout 60") == ["timeout 60 exportfs -ra"]
