# SPDX-License-Identifier: Apache-2.0
"""A plan is built only after its hash was approved."""

import os
import re
from pathlib import Path

from millrace.inventory.model import DriveState, Inventory
from millrace.plan.choices import LayoutChoice, choices
from millrace.plan.finding import Severity
from millrace.plan.model import Plan, PlanFile, PlanObstacle, Refusal, Role
from millrace.plan.policy.policy_file import load_policy
from millrace.storage.record.model import Approval
from millrace.system import paths
from millrace.system.documents import read_model, write_model
from millrace.system.errors import BadInput, Refused

SHORTEST_PREFIX = 12
CREDENTIAL = "millrace.provision"


def approve(digest: str, by: str, now: str) -> Approval:
    """Record the approval of the plan of this boot, or of another layout, by its sha256 or 12 leading digits of it.

    `by` is a user name or `credential`, `now` is UTC, ISO 8601. BadInput: it is no hash. Refused: it is not the hash of
    the current plan or of a layout of this server, or the server has a pool.
    """
    wanted = digest.strip().lower()
    if not re.fullmatch(rf"[0-9a-f]{{{SHORTEST_PREFIX},64}}", wanted):
        raise BadInput(
            f"'{digest}' is not a plan's hash: give its 64 hex digits, or at least the first {SHORTEST_PREFIX}; "
            "`millrace plan` shows it"
        )
    if paths.pool_file().exists():
        raise Refused("this server already has a pool; see `millrace pool show`")
    current, _ = current_plan()
    approval = Approval(sha256=current, by=by, at=now)
    if not current.startswith(wanted):
        choice = _choice(wanted)
        if choice is None:
            raise Refused(
                f"{wanted} is not the hash of the current plan, which is {current}; read it with `millrace plan`; nor "
                "is it that of another layout: `millrace plan --layouts`"
            )
        approval = Approval(sha256=choice.sha256, by=by, at=now, layout=choice.name)
    write_model(paths.approval_file(), approval)
    return approval


def _choice(wanted: str) -> LayoutChoice | None:
    """Another layout of this server whose hash begins so."""
    if not paths.inventory_file().exists():
        return None
    found = choices(read_model(paths.inventory_file(), Inventory), load_policy()).choices
    return next((choice for choice in found if choice.sha256.startswith(wanted)), None)


def current_plan() -> tuple[str, Plan]:
    """Return the plan of this boot and its sha256. Refused: there is none that can be built."""
    if not paths.plan_file().exists():
        raise Refused("no plan yet; create one with `millrace plan`")
    file = read_model(paths.plan_file(), PlanFile)
    if isinstance(file.proposal, Refusal):
        raise Refused(f"no plan to build: {obstacles(file.proposal)}")
    digest = file.proposal.digest()
    if file.sha256 != digest:
        raise Refused(f"{paths.plan_file()} does not match its own hash; create a new one with `millrace plan`")
    return digest, file.proposal


def approval_from_credential(now: str) -> Approval | None:
    """Approve what the credential `millrace.provision` names; None where the boot has no such credential.

    `auto` stands for the current plan, as long as every drive that it would write is blank and nothing in this server
    is found to be failing. `now` is UTC, ISO 8601.
    BadInput: the credential is no hash. Refused: it is not that of the current plan, a drive is not blank, or the
    audit has a finding of level fail.
    """
    directory = os.environ.get("CREDENTIALS_DIRECTORY")
    credential = Path(directory) / CREDENTIAL if directory else None
    if credential is None or not credential.is_file():
        return None
    wanted = credential.read_text().strip()
    if wanted != "auto":
        return approve(wanted, "credential", now)
    digest, plan = current_plan()
    written = [d for d in plan.drives if d.role not in (Role.BOOT, Role.UNUSED)]
    full = [drive.serial for drive in written if drive.state is not DriveState.BLANK]
    if full:
        raise Refused(f"the credential {CREDENTIAL}=auto covers blank drives only; not blank: {', '.join(full)}")
    if failed := [finding for finding in plan.findings if finding.severity is Severity.FAIL]:
        reasons = "; ".join(f"{finding.place}: {finding.what}" for finding in failed)
        raise Refused(
            f"the credential {CREDENTIAL}=auto approves no plan with a failure ({reasons}); correct it, or approve the "
            "plan by its hash"
        )
    return approve(digest, "credential", now)


def obstacles(refusal: Refusal) -> str:
    """Return in one line why there is no plan."""
    return "; ".join(_in_one_line(one) for one in refusal.obstacles) or "no reason given"


def _in_one_line(obstacle: PlanObstacle) -> str:
    """The cause and its drives."""
    names = "; ".join(one.words for one in obstacle.drives)
    return f"{names}: {obstacle.what}" if names else obstacle.what
