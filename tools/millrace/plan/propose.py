# SPDX-License-Identifier: Apache-2.0
"""From an inventory and a policy to a plan or a refusal. Pure: the same input gives the same bytes."""

from collections.abc import Callable
from typing import TypeVar

from millrace.inventory.model import Inventory
from millrace.plan.audit import audit
from millrace.plan.drive_decisions import drive_decisions, warnings
from millrace.plan.filesystem import plan_filesystem
from millrace.plan.grouping import Groups, candidates, grouped
from millrace.plan.knobs import plan_md, plan_sysctl
from millrace.plan.layout import Layout, plan_layout
from millrace.plan.legs import places_of
from millrace.plan.model import Decision, Obstacle, Plan, PlanFile, Proposal, Refusal
from millrace.plan.nfsd import plan_nfsd
from millrace.plan.override import CannotWork
from millrace.plan.policy import Policy
from millrace.plan.port_decisions import plan_ports
from millrace.plan.predict import predict
from millrace.plan.refuse import obstacles
from millrace.plan.roles import left_out, members, refused
from millrace.plan.server import server_of

Made = TypeVar("Made")
Planned = tuple[Made, list[Decision]]


def propose(inventory: Inventory, policy: Policy) -> Proposal:
    """Plan a pool from all candidates, or say everything that is in the way."""
    in_the_way = obstacles(inventory.drives, policy)
    if in_the_way:
        return _refusal(inventory, policy, in_the_way)
    groups = grouped(candidates(inventory.drives, policy), policy)
    try:
        layout, about_layout = plan_layout(groups, policy, places_of(inventory))
    except CannotWork as error:
        return _refusal(inventory, policy, [error.obstacle])
    return _ready(inventory, policy, groups, (layout, about_layout))


def plan_file(proposal: Proposal) -> PlanFile:
    """The proposal with its digest, as it is stored."""
    return PlanFile(sha256=proposal.digest() if isinstance(proposal, Plan) else None, proposal=proposal)


def _ready(inventory: Inventory, policy: Policy, groups: Groups, planned: Planned[Layout]) -> Proposal:
    server = server_of(inventory)
    layout, about_layout = planned
    in_the_way: list[Obstacle] = []
    filesystem = _try(lambda: plan_filesystem(layout, server, policy), in_the_way)
    nfsd = _try(lambda: plan_nfsd(server, policy), in_the_way)
    md = _try(lambda: plan_md(layout, server, policy), in_the_way)
    sysctl = _try(lambda: plan_sysctl(server, policy), in_the_way)
    if filesystem is None or nfsd is None or md is None or sysctl is None:
        return _refusal(inventory, policy, in_the_way)
    plan = Plan(
        title=layout.title,
        capacity=layout.capacity,
        drives=[*members(layout, groups), *left_out(inventory.drives, policy)],
        arrays=layout.arrays,
        filesystem=filesystem[0],
        nfsd=nfsd[0],
        md=md[0],
        sysctl=sysctl[0],
        decisions=[
            *drive_decisions(groups),
            *about_layout,
            *filesystem[1],
            *md[1],
            *nfsd[1],
            *sysctl[1],
            *plan_ports(server),
        ],
        warnings=warnings(layout, groups),
    )
    return plan.model_copy(update={"findings": audit(inventory, plan), "prediction": predict(inventory, plan)})


def _try(make: Callable[[], Planned[Made]], in_the_way: list[Obstacle]) -> Planned[Made] | None:
    """A person reads about all overrides that cannot work, not about the first."""
    try:
        return make()
    except CannotWork as error:
        in_the_way.append(error.obstacle)
        return None


def _refusal(inventory: Inventory, policy: Policy, in_the_way: list[Obstacle]) -> Refusal:
    drives = candidates(inventory.drives, policy)
    return Refusal(obstacles=in_the_way, drives=[*map(refused, drives), *left_out(inventory.drives, policy)])
