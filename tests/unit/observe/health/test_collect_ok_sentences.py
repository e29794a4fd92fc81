# SPDX-License-Identifier: Apache-2.0
"""Each check that says OK: the cheapest fault that would leave its sentence true, and the test that makes it.

`check`: the check itself ends its sentence, or another one sees the fault. A check that is added needs a row.
"""

import ast
from dataclasses import dataclass
from pathlib import Path

import pytest

from host.layout import REPO
from millrace.observe.health.collect import CHECKS

HERE = Path(__file__).parent
SOURCES = REPO / "tools/millrace/observe/health/checks"


@dataclass(frozen=True)
class Fault:
    """`what` is the fault; `made` the test of this room that makes it, or a file and a test of another room."""

    what: str
    check: str
    made: str


FAULTS = {
    "alerts": Fault(
        "the receiver takes nothing; a service that hangs is killed by its watchdog",
        "alerts",
        "test_alerts.py::test_route_that_has_not_delivered_for_an_hour_is_a_warning_with_the_last_error",
    ),
    "arrays": Fault(
        "sectors of a member cannot be read",
        "arrays",
        "test_arrays.py::test_a_list_of_bad_blocks_is_a_warning_with_the_drive",
    ),
    "backend": Fault(
        "the device is there and takes no write",
        "filesystem",
        "test_backend.py::test_a_file_system_that_shut_down_names_the_device",
    ),
    "certificate": Fault(
        "the web console shows the one before",
        "cockpit",
        "test_cockpit.py::test_earlier_certificate_is_a_warning_once_the_console_was_restarted",
    ),
    "clock": Fault(
        "the time client is stopped; the kernel counts as synchronised for hours",
        "clock",
        "test_clock.py::test_time_client_that_is_stopped_is_named_at_once",
    ),
    "cockpit": Fault(
        "systemd holds the socket and nothing is behind it",
        "cockpit",
        "test_cockpit.py::test_console_that_spins_behind_its_socket_is_a_failure",
    ),
    "connections": Fault(
        "a path is lost, the others carry on",
        "connections",
        "test_connections.py::test_lost_path_is_a_warning_that_names_it",
    ),
    "domain": Fault(
        "the controller responds and trusts this server no more",
        "domain",
        "serve/join/test_join_status.py::test_a_member_that_is_cut_off_fails",
    ),
    "drives": Fault(
        "the timer that reads SMART is stopped",
        "drives",
        "test_drives.py::test_smart_that_is_old_or_missing_is_unknown",
    ),
    "encryption": Fault(
        "the TPM did not open root at this start",
        "encryption",
        "test_encryption.py::test_a_tpm_that_did_not_open_root_is_bound_again",
    ),
    "filesystem": Fault(
        "it is mounted, and no write ends",
        "filesystem",
        "test_collect.py::test_a_pool_that_hangs_is_not_waited_for_and_not_touched",
    ),
    "firewall": Fault(
        "one rule before the others drops NFS",
        "firewall",
        "test_firewall.py::test_rule_that_drops_before_the_others_closes_the_server",
    ),
    "hardware": Fault(
        "a link became slow after the inventory of the boot",
        "hardware",
        "test_hardware.py::test_a_link_that_has_become_slow_since_the_boot",
    ),
    "journal": Fault(
        "the receiver accepts nothing",
        "journal",
        "serve/log_forward/test_forward.py::test_health_warns_where_nothing_was_accepted_for_ten_minutes",
    ),
    "keep": Fault(
        "the unit that keeps is stopped", "keep", "test_keep.py::test_state_that_was_not_verified_for_two_days_is_late"
    ),
    "kernel": Fault(
        "the module that runs is not the one of the image",
        "kernel",
        "test_kernel.py::test_module_of_another_build_is_not_taken_for_the_one_of_the_image",
    ),
    "memory": Fault(
        "errors of a controller that names no module",
        "memory",
        "test_memory.py::test_error_of_a_controller_that_does_not_know_the_module_is_not_lost",
    ),
    "nfs": Fault(
        "nfsd responds, and the firewall drops what clients send",
        "firewall",
        "test_firewall.py::test_port_that_was_taken_out_and_port_that_nobody_opened",
    ),
    "nfsd_nodes": Fault(
        "all threads are kept on one node",
        "nfsd_nodes",
        "test_nfsd_nodes.py::test_threads_that_the_kernel_keeps_on_one_node",
    ),
    "policy": Fault(
        "the file was edited and not applied",
        "policy",
        "test_policy.py::test_policy_that_was_edited_by_hand_is_not_said_to_be_in_force",
    ),
    "pool": Fault(
        "the pool was created, and a drive is pulled",
        "arrays",
        "test_arrays.py::test_a_pulled_drive_is_named_by_bay_and_serial",
    ),
    "ports": Fault(
        "a port has its addresses and another MTU",
        "ports",
        "test_links_decided.py::test_mtu_that_differs_from_the_configured_one_is_named",
    ),
    "protection": Fault(
        "the timer of scheduled snapshots is stopped: nothing is late before two periods have passed",
        "snapshots",
        "test_snapshots.py::test_upkeep_that_does_not_run_is_a_warning",
    ),
    "root": Fault("there is room for data, and no inode", "root", "test_root.py::test_room_and_inodes"),
    "scrub": Fault(
        "the timer of checks is stopped",
        "scrub",
        "test_scrub.py::test_check_that_is_late_by_a_period_is_a_warning_for_each_array",
    ),
    "settings": Fault(
        "they were computed, and the unit that applies them failed",
        "units",
        "test_collect.py::test_failed_unit_of_ours_says_why_and_what_to_do",
    ),
    "shares": Fault(
        "the directory of a share is gone", "shares", "test_shares.py::test_share_whose_directory_is_gone_is_a_failure"
    ),
    "slots": Fault("hot plug was switched on again", "slots", "test_slots.py::test_slot_with_hot_plug_is_a_warning"),
    "smb": Fault(
        "smbd responds, and the firewall drops what clients send",
        "firewall",
        "test_firewall.py::test_table_of_another_program_that_drops_closes_the_server",
    ),
    "snapshots": Fault(
        "the timer of scheduled snapshots is stopped",
        "snapshots",
        "test_snapshots.py::test_upkeep_that_does_not_run_is_a_warning",
    ),
    "trim": Fault("the timer of trims is stopped", "trim", "test_trim.py::test_trim_of_two_months_ago_is_a_warning"),
    "units": Fault(
        "a unit is stopped, which is no failure: the firewall",
        "firewall",
        "test_firewall.py::test_firewall_that_was_flushed_leaves_every_port_open",
    ),
    "update": Fault(
        "the version runs, and its /etc was not written",
        "update",
        "test_update.py::test_etc_that_was_not_written_is_a_warning_and_a_kept_file_is_said",
    ),
    "volumes": Fault(
        "a volume is exported and listens nowhere", "volumes", "test_volumes.py::test_volume_without_a_listener_fails"
    ),
}


def says_ok(check: str) -> bool:
    """Whether the source of a check names the level OK."""
    tree = ast.parse((SOURCES / f"{check}.py").read_text())
    names = (node for node in ast.walk(tree) if isinstance(node, ast.Attribute))
    return any(node.attr == "OK" and getattr(node.value, "id", "") == "Level" for node in names)


def test_each_check_that_says_ok_has_its_cheapest_fault() -> None:
    # the level of what the audit calls information is looked up, not written
    assert sorted(FAULTS) == sorted(name for name in CHECKS if says_ok(name))


@pytest.mark.parametrize("name", FAULTS)
def test_fault_is_made_by_a_test_and_seen_by_a_check(name: str) -> None:
    fault = FAULTS[name]
    file, _, test = fault.made.partition("::")
    path = HERE / file if "/" not in file else REPO / "tests/unit" / file
    assert f"def {test}(" in path.read_text() and fault.check in CHECKS
