# SPDX-License-Identifier: Apache-2.0
"""A 1U12 whose pool exists, as a run sees it."""

import dataclasses
from functools import cache
from typing import Any

from millrace.measure.bench.plan.site import Site
from millrace.measure.bench.result.model import RunRequest
from millrace.plan.model import Plan
from millrace.plan.policy.model import Policy
from millrace.plan.propose import propose
from millrace.storage.record.identity import new_transaction
from millrace.storage.record.model import Pool
from tests.unit.plan.servers import drive, drives_1u12, server

GIB = 1 << 30


def site(**more: Any) -> Site:
    """The 1U12 of the plan's tests, with one blank drive more, 1 TiB free and an RDMA device."""
    return dataclasses.replace(_site(), **more)


@cache
def _site() -> Site:
    inventory = server(drives_1u12())
    plan = propose(inventory, Policy())
    assert isinstance(plan, Plan)
    made = new_transaction(plan, "2026-01-01T00:00:00+00:00")
    pool = Pool(
        plan_sha256=plan.digest(),
        created="2026-01-01T00:00:00+00:00",
        drives=made.drives,
        arrays=made.arrays,
        filesystem=plan.filesystem,
        filesystem_uuid=made.filesystem_uuid,
    )
    return Site(
        pool=pool,
        inventory=inventory,
        title=plan.title,
        arrays=plan.arrays,
        sysctl=list(plan.sysctl),
        data=inventory.drives[:10],
        log=inventory.drives[10:12],
        blank=[drive(20, serial="BLANK1")],
        device="/dev/md/millrace-data",
        mountpoint="/srv/pool",
        free=1 << 40,
        memory=128 * GIB,
        cores=32,
        protocols=["nfs-tcp", "nfs-rdma", "smb"],
    )


def request(**more: Any) -> RunRequest:
    return RunRequest.model_validate(more)
