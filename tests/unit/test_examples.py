# SPDX-License-Identifier: Apache-2.0
"""The examples of the manual are read by the program that they are for."""

import base64
import configparser
import json
import re
import subprocess
from ipaddress import ip_interface
from pathlib import Path

import pytest
import yaml

from host.layout import REPO
from millrace.observe.metrics.collect import SOURCES
from millrace.plan.policy import keys
from millrace.plan.policy.model import Policy, Section
from millrace.plan.policy.policy_file import parse_policy
from millrace.system import paths
from millrace.system.documents import write_model
from tests.fakes import node_exporter
from tests.fakes.files.running import server
from tests.unit import commands
from tests.unit.measure.client import example_fstab
from tests.unit.observe.metrics.records import POOL_STATS, XFS, alert_report, xfs_stats
from tests.unit.plan import table_of_policy

MANUAL = REPO / "docs"
EXAMPLES = MANUAL / "examples"
CREDENTIALS = EXAMPLES / "credentials"


def test_the_example_of_a_policy_is_read_and_has_every_key() -> None:
    policy = parse_policy((EXAMPLES / "policy.toml").read_text(), "policy.toml")
    assert policy.model_fields_set == set(Policy.model_fields)
    sections = [getattr(policy, name) for name in Policy.model_fields]
    assert all(isinstance(section, Section) for section in sections)
    assert [set(type(section).model_fields) - section.model_fields_set for section in sections] == [set()] * len(
        sections
    )


@pytest.mark.parametrize("page", ["external.md", "policy.md", "security.md"])
def test_the_policies_in_the_manual_are_read(page: str) -> None:
    blocks = re.findall(r"^```toml\n(.*?)^```", (MANUAL / page).read_text(), re.MULTILINE | re.DOTALL)
    assert blocks and all(parse_policy(block, page) != Policy() for block in blocks)


def test_the_manual_describes_every_key_of_the_policy_as_the_program_does() -> None:
    page = table_of_policy.PAGE.read_text()
    assert table_of_policy.table() in page and len(table_of_policy.rows(page)) == len(list(keys.fields())) + 2


def test_the_example_of_an_fstab_is_what_the_recipes_say() -> None:
    text = example_fstab.FILE.read_text()
    assert text == example_fstab.text()
    (line,) = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert len(line.split()) == 6 and line.split()[2] == "nfs"


def test_every_example_of_a_credential_is_in_the_manual_and_read_by_a_unit() -> None:
    page = (MANUAL / "install.md").read_text()
    names = {path.name for path in CREDENTIALS.iterdir()}
    assert names == set(re.findall(r"\(examples/credentials/([^)]+)\)", page))
    places = [*(REPO / "units").rglob("*.service"), *(REPO / "mkosi.extra").rglob("*.conf")]
    texts = [place.read_text() for place in places if place.is_file()]
    imported = {name for text in texts for name in re.findall(r"^ImportCredential=(.+)$", text, re.M)}
    assert {name for name in names if name.startswith("millrace.")} == {
        name for name in imported if name.startswith("millrace.")
    }


def test_the_example_of_a_credential_with_a_policy_is_read() -> None:
    policy = parse_policy((CREDENTIALS / "millrace.policy").read_text(), "millrace.policy")
    assert policy.nfs.networks == ["10.1.0.0/24"]


def test_the_other_credentials_have_the_form_that_they_need() -> None:
    assert (CREDENTIALS / "millrace.provision").read_text() == "auto\n"
    assert len((CREDENTIALS / "millrace.admin-password").read_text().strip()) >= 12
    kind, key, _ = (CREDENTIALS / "ssh.authorized_keys.root").read_text().split()
    assert base64.b64decode(key)[4:].startswith(kind.encode())
    network = configparser.ConfigParser()
    network.read(CREDENTIALS / "network.network.50-data0")
    assert ip_interface(network["Network"]["Address"]).network.prefixlen == 24


@pytest.mark.parametrize("page", ["README.md", *sorted(f"docs/{path.name}" for path in MANUAL.glob("*.md"))])
def test_commands_of_the_manual_exist(page: str) -> None:
    """Every `millrace …` of a page is a verb, and its options are options of that verb."""
    assert commands.wrong((REPO / page).read_text()) == []


def test_a_command_that_does_not_exist_is_found() -> None:
    text = (
        "    millrace plan\n    millrace shares list    # all\n    millrace share list \\\n  --jsn\n`millrace plna`\n"
    )
    found = [line.split() for line in commands.wrong(text)]
    assert found == [["shares", "list"], ["share", "list", "--jsn"], ["plna"]]


def metrics_of_a_server(root: Path) -> set[str]:
    """The names of all samples that a server can have."""
    with server(root) as box:
        box.provision()
        box.shares()
        box.look()
        box.count(1)
        xfs_stats(box, XFS)
        box.tree.write("proc/fs/nfsd/pool_stats", POOL_STATS)
        write_model(paths.alert_report_file(), alert_report())
        families = [family for source in SOURCES.values() for family in source()]
    names = {
        f"millrace_{family.name}{suffix}"
        for family in families
        for suffix in {"", *(it.suffix for it in family.samples)}
    }
    names |= {f"millrace_scrape_{name}" for name in ("source_up", "source_duration_seconds", "timestamp_seconds")}
    return names | {"millrace_node_exporter_up"} | set(re.findall(r"^node_\w+", node_exporter.REPLY, re.MULTILINE))


@pytest.mark.parametrize("file", ["prometheus-rules.yml", "grafana-dashboard.json"])
def test_rules_and_dashboard_ask_for_metrics_that_there_are(file: str, tmp_path: Path) -> None:
    text = (EXAMPLES / file).read_text()
    if file.endswith(".yml"):
        asked = [rule["expr"] for group in yaml.safe_load(text)["groups"] for rule in group["rules"]]
    else:
        dashboard = json.loads(text)
        panels = dashboard["panels"]
        assert len({panel["id"] for panel in panels}) == len(panels)
        # a row has none
        asked = [target["expr"] for panel in panels for target in panel.get("targets", [])]
        asked += [
            variable["query"]["query"] for variable in dashboard["templating"]["list"] if variable["type"] == "query"
        ]
    names = {name for expression in asked for name in re.findall(r"(?:millrace|node)_\w+", expression)}
    assert len(names) > 15 and names - metrics_of_a_server(tmp_path) == set()


def test_manual_names_metrics_that_node_exporter_has() -> None:
    page = (MANUAL / "metrics.md").read_text()
    # `node_md_…` is a group
    own = {"node_exporter", "node_exporter_up"}
    names = {name for name in re.findall(r"\bnode_\w+", page) if not name.endswith("_")} - own
    assert len(names) > 30
    assert names - set(re.findall(r"^node_\w+", node_exporter.REPLY, re.MULTILINE)) == set()


def xiraid_check(root: Path, *words: str, xicli: str | None = None) -> tuple[int, list[str]]:
    """The exit status of the check on a server of files, and what it misses."""
    tools = root / "bin"
    tools.mkdir(exist_ok=True)
    programs = {"uname": "echo 7.2.12"} | ({"xicli": xicli} if xicli is not None else {})
    for name, text in programs.items():
        (tools / name).write_text(f"#!/bin/sh\n{text}\n")
        (tools / name).chmod(0o755)
    environment = {"ROOT": str(root), "PATH": f"{tools}:/usr/bin:/bin"}
    done = subprocess.run(
        ["sh", EXAMPLES / "xiraid-check", *words], env=environment, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    return done.returncode, [
        line.removeprefix("MISSING").strip() for line in done.stdout.splitlines() if "MISS" in line
    ]


def module(root: Path, kernel: str) -> None:
    path = root / "usr/lib/modules" / kernel / "extra/xiraid.ko"
    path.parent.mkdir(parents=True)
    path.touch()


def test_the_check_of_xiraid_names_each_thing_that_is_missing(tmp_path: Path) -> None:
    assert xiraid_check(tmp_path, "data") == (1, ["module xiraid for kernel 7.2.12", "xicli", "/dev/xi_data"])
    module(tmp_path, "6.8.0")
    assert xiraid_check(tmp_path, xicli="exit 1") == (
        1,
        ["module xiraid for kernel 7.2.12; there is one for 6.8.0", "licence"],
    )
    module(tmp_path, "7.2.12")
    assert xiraid_check(tmp_path, xicli="echo valid") == (1, ["module xiraid is not loaded"])


def test_the_check_of_xiraid_is_content_with_a_server_that_has_all(tmp_path: Path) -> None:
    (tmp_path / "sys/module/xiraid").mkdir(parents=True)
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/xi_data").touch()
    assert xiraid_check(tmp_path, "data", xicli="echo valid") == (0, [])
