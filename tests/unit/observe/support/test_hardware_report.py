# SPDX-License-Identifier: Apache-2.0
"""The report for others has each kind of part, and nothing that tells one server or its owner from another."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from millrace.cli.program import millrace
from millrace.inventory.model import Inventory
from millrace.observe.support.hardware_report import DMI, hardware_report
from millrace.system import paths
from millrace.system.documents import read_model, write_model
from millrace.system.errors import Refused
from tests.fakes.files.box import Box
from tests.fakes.files.running import server

OWNER = ["SERIAL-4711", "4c4c4544-0042", "rack 7 of corp", "models", "anna", "10.77.0.0"]
PRODUCT = {"sys_vendor": "ACME", "product_name": "1U12 G2", "bios_version": "2.4", "board_name": "Default string"}
PRIVATE = {
    "product_serial": OWNER[0],
    "board_serial": OWNER[0],
    "product_uuid": OWNER[1],
    "chassis_asset_tag": OWNER[2],
}


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    with server(tmp_path / "root") as made:
        made.provision()
        made.shares()
        made.look()
        made.tree.write("etc/machine-id", "8d1f4c7a3b5e4f0d9c2b1a0e7f6d5c4b\n")
        for name, text in (PRODUCT | PRIVATE).items():
            made.tree.write(str(DMI / name), f"{text}\n")
        yield made


def run(*words: str) -> str:
    return CliRunner().invoke(millrace, ["support", "--hardware-report", *words], catch_exceptions=False).stdout


def test_report_counts_equal_parts_and_names_the_product(box: Box) -> None:
    inventory = read_model(paths.inventory_file(), Inventory)
    report = json.loads(run("--json"))
    assert sum(part["count"] for part in report["drives"]) == len(inventory.drives) > 10
    assert len(report["drives"]) < len(inventory.drives)
    assert sum(part["count"] for part in report["ports"]) == len(inventory.nics) > 0
    # what the maker of the board left open is no name
    assert (report["server"], report["firmware"]) == ("ACME, 1U12 G2", "2.4")
    assert report["cores"] == sum(node.cores for node in inventory.nodes)
    assert report["layout"].startswith("pool: 1 × data raid6 of 10")


def test_report_identifies_no_part_and_no_owner(box: Box) -> None:
    inventory = read_model(paths.inventory_file(), Inventory)
    printed = run() + run("--json")
    identity = [text for one in inventory.drives for text in (one.serial, one.wwid, one.eui64, one.nguid) if text]
    named = [*identity, *(nic.name for nic in inventory.nics), *OWNER, "8d1f4c7a3b5e4f0d9c2b1a0e7f6d5c4b"]
    assert len(identity) > 10 and [text for text in named if text in printed] == []
    assert "PCIe 32 GT/s" in printed and inventory.cpu_model in printed


def test_finding_is_counted_instead_of_naming_its_drive(box: Box) -> None:
    inventory = read_model(paths.inventory_file(), Inventory)
    hot = [drive.model_copy(update={"firmware": f"9.{number}"}) for number, drive in enumerate(inventory.drives)]
    write_model(paths.inventory_file(), inventory.model_copy(update={"drives": hot}))
    findings = hardware_report().findings
    assert findings and any("irmware" in part.what for part in findings)
    serials = [drive.serial for drive in hot if drive.serial]
    assert [serial for serial in serials if any(serial in part.what for part in findings)] == []


def test_hostile_model_of_a_drive_is_one_line_of_text(box: Box) -> None:
    inventory = read_model(paths.inventory_file(), Inventory)
    drives = [inventory.drives[0].model_copy(update={"model": 'X"\n\x1b[31m, models'}), *inventory.drives[1:]]
    write_model(paths.inventory_file(), inventory.model_copy(update={"drives": drives}))
    printed = run()
    assert "\x1b" not in printed and "share-" in printed
    assert json.loads(run("--json"))["drives"]


def test_server_without_a_pool_shows_its_plan(tmp_path: Path) -> None:
    with server(tmp_path / "root") as box:
        box.look()
        box.tree.write("etc/machine-id", "8d1f4c7a3b5e4f0d9c2b1a0e7f6d5c4b\n")
        report = hardware_report()
    assert report.layout.startswith(("planned: ", "no plan is possible")) and report.server is None


def test_report_needs_root(tmp_path: Path) -> None:
    with server(tmp_path / "root", user=1000), pytest.raises(Refused, match="root"):
        hardware_report()


@pytest.mark.parametrize("words", [["--list"], ["a.tar.zst"]])
def test_report_excludes_archive_and_list(box: Box, words: list[str]) -> None:
    assert CliRunner().invoke(millrace, ["support", "--hardware-report", *words]).exit_code == 2
