# SPDX-License-Identifier: Apache-2.0
"""What the kernel counts of errors of memory, PCIe links and heat."""

from pathlib import Path

from millrace.inventory import error_counters
from millrace.inventory.error_counters import LinkErrors, Module
from tests.fakes.error_counters import add_aer, add_card, add_module, add_throttling
from tests.unit.plan import servers_hw
from tests.unit.tune.fake_sysfs import add_node


def test_errors_of_modules_have_the_label_of_the_slot_and_others_their_controller(tmp_path: Path) -> None:
    add_module(tmp_path, 0, 0, "P0_DIMM_A1", corrected=7)
    directory = add_module(tmp_path, 0, 1, "P0_DIMM\x1b[2J_B1", uncorrected=1)
    (directory / "ce_count").write_text("9\n")
    assert error_counters.modules(tmp_path) == [
        Module("mc0/dimm0", "Memory module P0_DIMM_A1", 7, 0),
        Module("mc0/dimm1", "Memory module P0_DIMM\\x1b[2J_B1", 0, 1),
        Module("mc0/others", "Memory controller 0 (module not reported)", 2, 0),
    ]


def test_module_without_a_label_is_named_by_its_controller(tmp_path: Path) -> None:
    add_module(tmp_path, 1, 3, "")
    assert error_counters.modules(tmp_path)[0].title == "Memory module dimm3 of controller mc1"


def test_server_without_an_edac_driver_has_no_modules(tmp_path: Path) -> None:
    assert error_counters.modules(tmp_path) == []
    (tmp_path / error_counters.EDAC / "power").mkdir(parents=True)
    assert error_counters.modules(tmp_path) == []


def test_probing_and_pulled_drives_are_no_errors_of_a_link(tmp_path: Path) -> None:
    add_aer(tmp_path, {"RxErr": 2, "Timeout": 1}, {"CmpltTO": 3, "UnsupReq": 40, "SDES": 1, "ACSViol": 1})
    assert error_counters.link_errors(tmp_path) == LinkErrors(3, 3)


def test_link_without_aer_has_no_counters(tmp_path: Path) -> None:
    assert error_counters.link_errors(tmp_path) is None


def test_link_has_both_ends_and_a_card_one_link_for_all_its_ports(tmp_path: Path) -> None:
    devices = tmp_path / "sys/bus/pci/devices"
    devices.mkdir(parents=True)
    root = tmp_path / "sys/devices/pci0000:40/0000:40:01.0"
    add_aer(root, {"BadTLP": 1})
    add_aer(root / "0000:04:00.0", {"RxErr": 5})
    (devices / "0000:04:00.0").symlink_to(root / "0000:04:00.0")
    for number in range(2):
        function = add_card(tmp_path, "0000:80:01.0", f"0000:81:00.{number}", f"ens{number}", {"RxErr": number})
    virtual = add_card(tmp_path, "0000:80:01.0", "0000:81:10.0", "ens1v0", {"RxErr": 100})
    (virtual / "physfn").symlink_to(function)
    drive = next(drive for drive in servers_hw.one_u_12().drives if drive.pci_address == "0000:04:00.0")
    links = error_counters.links(tmp_path, [drive])
    assert [(link.kind, link.subject) for link in links] == [("drive", drive.serial), ("card", "ens0, ens1")]
    ends = {end.key: end.errors.corrected for link in links for end in link.ends}
    assert ends == {drive.serial: 5, "0000:40:01.0": 1, "0000:81:00.0": 0, "0000:81:00.1": 1, "0000:80:01.0": 0}


def test_card_is_counted_under_the_same_keys_where_its_ports_have_no_names(tmp_path: Path) -> None:
    function = add_card(tmp_path, "0000:80:01.0", "0000:81:00.0", "ens1", {"RxErr": 3})
    (function / "net/ens1").rmdir()
    (tmp_path / "sys/class/net/ens1/device").unlink()
    [link] = error_counters.links(tmp_path, [])
    assert (link.subject, [end.key for end in link.ends]) == ("0000:81:00.0", ["0000:81:00.0", "0000:80:01.0"])


def test_heat_of_a_socket_is_read_of_one_cpu_of_each_node(tmp_path: Path) -> None:
    for node, cpus in enumerate(("0-1,8-9", "2-3", "4-7", "")):
        add_node(tmp_path, node, cpus)
    for cpu, package, times in ((0, 0, 4), (2, 0, 4), (4, 1, 0)):
        add_throttling(tmp_path, cpu, package, times, ms=900 * times)
    assert error_counters.throttled_packages(tmp_path) == {0: (4, 3600), 1: (0, 0)}
