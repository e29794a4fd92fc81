# SPDX-License-Identifier: Apache-2.0
"""A plan is approved by its hash only."""

from pathlib import Path

import pytest

from millrace.inventory.model import DriveState
from millrace.plan.choices import choices
from millrace.plan.finding import PlanFinding, Severity
from millrace.plan.model import DriveName, Plan, PlanFile, PlanObstacle, Refusal
from millrace.plan.policy.model import Policy
from millrace.plan.propose import propose as proposed_plan
from millrace.storage.provision.approval import approval_from_credential, approve
from millrace.storage.record.model import Approval
from millrace.system import paths
from millrace.system.documents import read_model, write_model
from millrace.system.errors import BadInput, Refused
from tests.fakes.drives.world import World
from tests.unit.plan.servers import drives_1u12, server
from tests.unit.storage.plans import raid6_plan
from tests.unit.storage.server import built, propose, provision

D3 = DriveName(bay="bay 3", name="nvme3n1", serial="D3")
NOW = "2026-09-01T11:00:00+00:00"


def credential(root: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    (root / "credentials").mkdir()
    (root / "credentials/millrace.provision").write_text(text)
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(root / "credentials"))


def test_the_hash_of_the_current_plan_is_recorded_with_who_and_when() -> None:
    digest = propose(raid6_plan())
    approve(digest, "admin", NOW)
    assert read_model(paths.approval_file(), Approval) == Approval(sha256=digest, by="admin", at=NOW)


def test_twelve_leading_digits_are_enough_and_stand_for_the_whole_hash() -> None:
    digest = propose(raid6_plan())
    assert approve(digest[:12].upper(), "admin", NOW).sha256 == digest


@pytest.mark.parametrize("digest", ["", "yes", "abc123", "0" * 65, "g" * 64])
def test_what_is_no_hash_is_bad_input(digest: str) -> None:
    propose(raid6_plan())
    with pytest.raises(BadInput, match="64 hex digits"):
        approve(digest, "admin", NOW)
    assert not paths.approval_file().exists()


def test_the_hash_of_an_older_plan_is_refused_and_the_current_one_named() -> None:
    stale = propose(raid6_plan())
    current = propose(raid6_plan().model_copy(update={"capacity": 1}))
    with pytest.raises(Refused, match=f"{stale} is not .* which is {current}; read it with `millrace plan`"):
        approve(stale, "admin", NOW)
    assert not paths.approval_file().exists()


def test_a_refused_plan_cannot_be_approved_and_the_reason_is_repeated() -> None:
    refusal = Refusal(obstacles=[PlanObstacle(drives=[D3], what="holds an ext4 file system", todo="")], drives=[])
    write_model(paths.plan_file(), PlanFile(sha256=None, proposal=refusal))
    with pytest.raises(Refused, match="bay 3, nvme3n1, D3: holds an ext4 file system"):
        approve("0" * 64, "admin", NOW)


def test_without_a_plan_there_is_nothing_to_approve() -> None:
    with pytest.raises(Refused, match="millrace plan"):
        approve("0" * 64, "admin", NOW)


def test_a_plan_file_that_was_edited_is_not_approved() -> None:
    digest = raid6_plan().digest()
    edited = raid6_plan().model_copy(update={"capacity": 1})
    write_model(paths.plan_file(), PlanFile(sha256=digest, proposal=edited))
    with pytest.raises(Refused, match="does not match its own hash"):
        approve(digest, "admin", NOW)


def test_a_server_with_a_pool_takes_no_approval(world: World) -> None:
    built(world, raid6_plan())
    with pytest.raises(Refused, match="already has a pool"):
        approve(raid6_plan().digest(), "admin", NOW)


def test_no_credential_approves_nothing() -> None:
    propose(raid6_plan())
    assert approval_from_credential(NOW) is None


def test_the_credential_auto_approves_the_current_plan(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    digest = propose(raid6_plan())
    credential(root, monkeypatch, "auto\n")
    assert approval_from_credential(NOW) == Approval(sha256=digest, by="credential", at=NOW)


def test_the_credential_auto_never_covers_a_drive_that_is_not_blank(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, *rest = raid6_plan().drives
    propose(raid6_plan().model_copy(update={"drives": [first.model_copy(update={"state": DriveState.OURS}), *rest]}))
    credential(root, monkeypatch, "auto")
    with pytest.raises(Refused, match="not blank: D0"):
        approval_from_credential(NOW)
    assert not paths.approval_file().exists()


def test_a_credential_with_a_hash_approves_that_plan_only(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stale = propose(raid6_plan())
    credential(root, monkeypatch, stale)
    propose(raid6_plan().model_copy(update={"capacity": 1}))
    with pytest.raises(Refused, match="not the hash of the current plan"):
        approval_from_credential(NOW)


@pytest.mark.parametrize(("severity", "approved"), [(Severity.FAIL, False), (Severity.WARN, True)])
def test_auto_approves_no_plan_with_a_failure(
    root: Path, monkeypatch: pytest.MonkeyPatch, severity: Severity, approved: bool
) -> None:
    finding = PlanFinding(name="drive.failing", severity=severity, subject="D1", what="It fails.", todo="", bay="bay 1")
    propose(raid6_plan().model_copy(update={"findings": [finding]}))
    credential(root, monkeypatch, "auto")
    if approved:
        assert approval_from_credential(NOW)
        return
    with pytest.raises(Refused, match=r"auto approves no plan with a failure \(D1 \(bay 1\): It fails\.\)"):
        approval_from_credential(NOW)
    assert not paths.approval_file().exists()


def test_hash_of_another_layout_is_approved_with_its_name(root: Path, world: World) -> None:
    inventory = server(drives_1u12())
    plan = proposed_plan(inventory, Policy())
    assert isinstance(plan, Plan)
    propose(plan)
    write_model(paths.inventory_file(), inventory)
    other = next(choice for choice in choices(inventory, Policy()).choices if choice.name == "raid60-2x5")
    given = approve(other.sha256[:12], "admin", "2026-09-01T11:00:00+00:00")
    assert (given.sha256, given.layout) == (other.sha256, "raid60-2x5")
    assert root.exists() and world.names


def test_chosen_layout_is_what_is_built(world: World) -> None:
    chosen = raid6_plan().model_copy(update={"title": "the chosen one"})
    world.layouts["raid6-other"] = chosen
    write_model(
        paths.approval_file(), Approval(sha256=chosen.digest(), by="admin", at="2026-09-01", layout="raid6-other")
    )
    assert provision(world).plan_sha256 == chosen.digest()
