# SPDX-License-Identifier: Apache-2.0
"""Servers that the tests start from, and what is done to them again and again."""

from millrace.plan.model import Plan, PlanFile
from millrace.storage.provision import apply
from millrace.storage.provision.approval import approve
from millrace.storage.record.model import Pool
from millrace.system import paths
from millrace.system.documents import write_model
from tests.fakes.drives.disks import Disk
from tests.fakes.drives.world import World
from tests.unit.storage.plans import DATA_SIZE


def server_for(plan: Plan) -> World:
    """All drives of the plan, blank, besides a foreign drive and a blank one that the plan does not use."""
    used = [drive for drive in plan.drives if drive.partitions]
    planned = [
        Disk(drive.serial, drive.size, 4096 if number % 2 else 512, wwid=drive.wwid)
        for number, drive in enumerate(used)
    ]
    others = [Disk("FOREIGN", DATA_SIZE, foreign="ext4 file system"), Disk("UNUSED", DATA_SIZE)]
    return World([*planned, *others], plan, {drive.serial for drive in used})


def propose(plan: Plan) -> str:
    """What millrace-plan.service leaves behind; returns the hash."""
    write_model(paths.plan_file(), PlanFile(sha256=plan.digest(), proposal=plan))
    return plan.digest()


def approve_plan(plan: Plan) -> None:
    """A person names the hash."""
    approve(propose(plan), "admin", "2026-09-01T11:00:00+00:00")


def provision(world: World) -> Pool:
    """Run provisioning as its unit does; there must be a pool afterwards."""
    pool = apply.provision(world, lambda _: None, if_approved=True).pool
    assert pool is not None
    return pool


def built(world: World, plan: Plan) -> Pool:
    """A server whose pool is built."""
    approve_plan(plan)
    return provision(world)
