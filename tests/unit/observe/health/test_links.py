# SPDX-License-Identifier: Apache-2.0
"""PCIe links with errors are named by bay and serial, by the ports of a card, by the address of a switch."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from millrace.inventory import error_counters
from millrace.observe.health.checks import links
from millrace.observe.health.model import Level
from millrace.storage.drive import counter_rises, hardware_errors
from millrace.system import paths
from tests.fakes.error_counters import add_aer, add_card
from tests.unit.observe.health.servers import host, place, sentences, well

TODAY = datetime.now(UTC).date()
PORT, DRIVE = "0000:40:01.0", "0000:41:00.0"
CARD_PORT, CARD = "0000:80:01.0", "0000:81:00.0"


@pytest.fixture(autouse=True)
def serving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    well(tmp_path)
    counts(tmp_path)
    # the controller of drive 3 is below its PCI function
    function = tmp_path / f"sys/devices/pci0000:40/{PORT}/{DRIVE}"
    controller = tmp_path / "sys/devices/ctl/nvme3n1"
    controller.rename(function / "nvme3")
    link = tmp_path / "sys/devices/nvme3n1/device"
    link.unlink()
    link.symlink_to(function / "nvme3")
    devices = tmp_path / "sys/bus/pci/devices"
    devices.mkdir(parents=True)
    (devices / DRIVE).symlink_to(function)
    add_card(tmp_path, CARD_PORT, CARD, "enp1s0")
    place(tmp_path, 3, "7")
    return tmp_path


def counts(
    root: Path,
    drive: Mapping[str, int] | None = None,
    port: Mapping[str, int] | None = None,
    card: Mapping[str, int] | None = None,
    lost: Mapping[str, int] | None = None,
) -> None:
    add_aer(root / f"sys/devices/pci0000:40/{PORT}", dict(port or {}))
    add_aer(root / f"sys/devices/pci0000:40/{PORT}/{DRIVE}", dict(drive or {}), dict(lost or {}))
    add_aer(root / f"sys/devices/pci0000:80/{CARD_PORT}/{CARD}", dict(card or {}))


def found() -> str:
    return sentences(links.check(host()))


def test_links_without_errors_are_not_mentioned(serving: Path) -> None:
    assert found() == ""
    counts(serving, {"RxErr": 999}, lost={"UnsupReq": 50})
    assert found() == ""


def test_drive_whose_link_has_errors_is_named_with_bay_and_remedy(serving: Path) -> None:
    counts(serving, {"RxErr": 600, "BadTLP": 500}, {"Timeout": 20})
    [finding] = links.check(host())
    assert finding.sentence == (
        f"Bay 7 (D1): its PCIe link had 1100 errors that were corrected since {TODAY}, reported by the drive."
    )
    assert (finding.level, finding.key) == (Level.WARN, "links/corrected/D1")
    assert (finding.todo or "").startswith("Reseat the drive; if that does not help, check the cable and backplane")


def test_error_that_was_not_corrected_is_a_warning_at_once(serving: Path) -> None:
    counts(serving, lost={"CmpltTO": 1})
    assert f"WARN: Bay 7 (D1): its PCIe link had 1 error that was not corrected since {TODAY}, reported by" in found()


def test_port_above_a_drive_is_named_as_the_end_that_reported(serving: Path) -> None:
    counts(serving, port={"RxErr": 2000})
    assert f"reported by {PORT}." in found()


def test_network_card_is_named_by_its_ports(serving: Path) -> None:
    counts(serving, card={"RxErr": 1000})
    assert "WARN: Network card of enp1s0: its PCIe link had 1000 errors" in found()
    assert "Reseat the card" in found()


def test_finding_ends_two_days_after_the_last_errors(serving: Path) -> None:
    counts(serving, {"RxErr": 5000})
    counted = hardware_errors.of_links(error_counters.links(paths.ROOT, host().drives))
    for ago, lines in ((1, 1), (2, 0)):
        counter_rises.save(
            counter_rises.count(counter_rises.Rises(), counted, counter_rises.boot_id(), TODAY - timedelta(days=ago))
        )
        assert len(links.check(host())) == lines


def test_pulled_drive_is_not_named(serving: Path) -> None:
    counts(serving, {"RxErr": 5000})
    (serving / "sys/block/nvme3n1").unlink()
    assert found() == ""
