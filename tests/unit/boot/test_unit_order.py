# SPDX-License-Identifier: Apache-2.0
"""Serving waits for the arrays of pool.json and for nothing that only a server without a pool needs."""

from graphlib import TopologicalSorter

import pytest

from host.layout import REPO
from millrace.lifecycle.etc import factory
from millrace.system import paths
from tests.unit.boot.units import OWN, before, instances, names, settings, started, unit

FIRST_DAY = {"millrace-inventory.service", "millrace-plan.service", "millrace-provision.service"}


@pytest.mark.parametrize("served", ["millrace-serving.target", "nfs-server.service", "smbd.service"])
def test_serving_does_not_wait_for_inventory_or_plan(served: str) -> None:
    waited = before(served)
    assert {"millrace-assemble.service", "srv-pool.mount", "millrace-share.service"} <= waited
    assert not FIRST_DAY & waited


def test_inventory_does_not_open_a_member_while_arrays_are_assembled() -> None:
    assert "millrace-assemble.service" in before("millrace-inventory.service")


def test_pool_that_was_just_built_is_assembled_and_served() -> None:
    # in that boot the condition of millrace-assemble.service had failed before there was a pool
    assert unit("millrace-assemble.service")["ConditionPathExists"] == [
        "/var/lib/millrace/pool.json",
        "!/var/lib/millrace/pool-destruction.json",
    ]
    started = "/usr/bin/systemctl --no-block start {}"
    assert started.format("millrace-assemble.service") in unit("millrace-provision.service")["ExecStartPost"]
    assert started.format("millrace-serving.target") in unit("millrace-assemble.service")["ExecStartPost"]


def test_interrupted_provisioning_goes_on_in_the_next_boot() -> None:
    provision = unit("millrace-provision.service")
    # a transaction without a pool.json: nothing but the pool itself keeps it from starting
    assert provision["ConditionPathExists"] == ["!/var/lib/millrace/pool.json"]
    assert {"millrace-plan.service", "millrace-inventory.service"} <= before("millrace-provision.service")
    assert names(provision, "Requires") == set()


def test_interrupted_destruction_goes_on_in_the_next_boot_and_no_array_of_it_is_started() -> None:
    destroy, journal = (
        unit("millrace-pool-change@destroy.service"),
        f"/{paths.destruction_file().relative_to(paths.ROOT)}",
    )
    assert destroy["ConditionPathExists"] == [journal]
    assert destroy["ExecStart"] == ["/usr/bin/millrace pool destroy --automatic"]
    assert (OWN / "multi-user.target.wants/millrace-pool-change@destroy.service").is_symlink()
    for name in ("millrace-assemble.service", "millrace-pool-change@revive.service"):
        assert f"!{journal}" in unit(name)["ConditionPathExists"]


def test_journal_of_an_adoption_that_is_over_is_removed_in_the_next_boot() -> None:
    # systemd.unit(5): of the conditions with a bar one must hold, and of those without all
    assert unit("millrace-adopt.service")["ConditionPathExists"] == [
        "|!/var/lib/millrace/pool.json",
        "|/var/lib/millrace/adoption.json",
        "!/var/lib/millrace/transaction.json",
    ]


@pytest.mark.parametrize(
    ("of_systemd", "only"),
    [
        ("systemd-boot-update.service", ("ConditionNeedsUpdate", "/etc")),
        ("systemd-boot-random-seed.service", ("ConditionFirstBoot", "yes")),
    ],
)
def test_boot_partition_is_not_waited_for_in_each_boot(of_systemd: str, only: tuple[str, str]) -> None:
    assert unit(of_systemd)[only[0]] == [only[1]]


def test_no_unit_of_the_way_to_serving_gives_up_too_early() -> None:
    # log replay and counting quotas take as long as they take
    for name in ("millrace-pool.service", "millrace-share.service", "nfs-server.service"):
        assert unit(name)["TimeoutStartSec"] in ([], ["infinity"])


def test_missed_check_of_xfs_begins_when_the_pool_is_mounted_and_not_before() -> None:
    timer = unit("millrace-upkeep@xfs-scrub.timer")
    assert timer["Persistent"] == ["yes"]
    # where it is active before the pool is mounted, the service is skipped and the check counts as done
    assert "millrace-storage.target" in names(timer, "After")
    assert "millrace-upkeep@xfs-scrub.timer" in names(unit("millrace-storage.target"), "Wants")
    assert not list(OWN.glob("*.target.wants/millrace-upkeep@xfs-scrub.timer"))
    # timers.target comes before all that mounts the pool
    assert timer["DefaultDependencies"] == ["no"]


def test_boot_does_not_last_until_a_missed_check_of_xfs_ends() -> None:
    assert unit("millrace-xfs-scrub.service")["Type"] == ["exec"]


def test_members_are_counted_for_a_trial_before_the_pool_is_unmounted() -> None:
    found = unit("millrace-trial.service")
    # systemd.unit(5): units are stopped in the reverse of the order in which they are started
    assert {"srv-pool.mount", "millrace-assemble.service"} <= names(found, "After")
    assert (found["ExecStop"], found["RemainAfterExit"]) == (["/usr/bin/millrace update measure"], ["yes"])


def test_etc_is_made_before_the_system_manager_of_the_new_root_starts() -> None:
    directory = REPO / "mkosi.initrd.conf/mkosi.extra/usr/lib/systemd/system"
    service = settings((directory / "millrace-etc.service").read_text())
    assert {"sysroot.mount", "sysroot-usr.mount"} <= names(service, "After")
    # initrd-parse-etc.service comes after it, and what leads to the new root after that
    assert "initrd-root-fs.target" in names(service, "Before")
    # wanted: a boot whose /etc cannot be written goes on
    assert (directory / "initrd.target.wants/millrace-etc.service").resolve() == directory / "millrace-etc.service"
    assert not list(directory.glob("*.requires/millrace-etc.service"))
    assert service["ConditionPathExists"] == ["/sysroot/lib64", f"/sysroot/{factory.FACTORY}/{factory.LIST}"]
    assert service["ExecStart"] == ["/usr/sbin/chroot /sysroot /usr/bin/python3 -I -B -m millrace.lifecycle.etc"]


def test_build_lists_what_the_version_brings_to_etc_when_nothing_is_added_any_more() -> None:
    lines = [line for line in (REPO / "mkosi.finalize").read_text().splitlines() if line and not line.startswith("#")]
    assert lines[-1] == "mkosi-chroot /usr/bin/python3 -I -B -m millrace.lifecycle.etc list"


def test_order_of_units_has_no_cycle() -> None:
    """systemd would leave one of them out of a boot, whichever it finds (systemd.unit(5), Before=)."""
    files = {path.name for path in OWN.glob("*.*") if path.is_file()}
    own = {name: unit(name) for name in files | instances()}
    after = {name: names(unit_settings, "After") for name, unit_settings in own.items()}
    for name, unit_settings in own.items():
        for later in names(unit_settings, "Before") & set(after):
            after[later].add(name)
        # systemd.path(5), systemd.timer(5): either comes before what it starts
        if name.endswith((".path", ".timer")) and started(name) in after:
            after[started(name)].add(name)
    # a target comes after what it wants, unless that says that it comes after the target
    for name in (target for target in own if target.endswith(".target")):
        after[name] |= {wanted for wanted in names(own[name], "Wants", "Requires") if name not in after.get(wanted, ())}
    assert len(list(TopologicalSorter(after).static_order())) >= len(own)


def test_damaged_files_are_searched_for_after_each_mount_of_the_pool() -> None:
    # by hand as well, which does not start all that serves
    assert "millrace-unclean.service" in names(unit("millrace-storage.target"), "Wants")
    assert "millrace-storage.target" in names(unit("millrace-unclean.service"), "After")
    assert "millrace-storage.target" in names(unit("nfs-server.service"), "Requires")


def test_search_for_damaged_files_takes_no_memory_of_servers_and_keeps_no_member_away() -> None:
    found = unit("millrace-unclean.service")
    assert found["MemoryMax"] == ["1G"]
    # also where it is killed for that
    assert found["ExecStopPost"] == [
        "/usr/bin/millrace pool unclean-cleanup",
        "-/usr/bin/systemctl start --no-block millrace-readd.service millrace-replace@boot.service",
    ]
