# SPDX-License-Identifier: Apache-2.0
"""`millrace approve | provision | assemble | pool` in text and as JSON."""

import json
from pathlib import Path

import pytest
from click import Command
from click.testing import CliRunner

from millrace.observe.pool import verbs as pool_verbs
from millrace.storage.assemble import assemble_verbs
from millrace.storage.provision import provision_verbs
from millrace.storage.provision.mount_unit import mount_unit_file
from millrace.storage.record.model import Approval
from millrace.system import paths
from millrace.system.documents import read_model
from tests.fakes.drives.world import World
from tests.fakes.mounts import unmount_all
from tests.unit.storage.plans import raid6_plan
from tests.unit.storage.server import approve_plan, built, propose


@pytest.fixture(autouse=True)
def _on_the_world(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (provision_verbs, assemble_verbs):
        monkeypatch.setattr(module, "Linux", lambda: world)


def says(verb: Command, *words: str) -> str:
    result = CliRunner().invoke(verb, list(words), catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def test_an_approval_can_be_recorded_for_the_next_boot(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUDO_USER", "admin")
    digest = propose(raid6_plan())
    assert says(provision_verbs.approve, digest, "--no-start") == f"approved: plan {digest}\n"
    assert read_model(paths.approval_file(), Approval).by == "admin"
    assert world.calls == []


def test_each_boot_writes_the_mount_unit_before_the_pool_is_mounted(world: World) -> None:
    built(world, raid6_plan())
    mount_unit_file().write_text("[Mount]\nOptions=noatime\n")
    result = CliRunner().invoke(assemble_verbs.assemble, [], catch_exceptions=False)
    assert result.exit_code == 0
    assert "srv-pool.mount: updated for this version" in result.stderr
    assert "Options=nosuid,nodev,noexec,noatime," in mount_unit_file().read_text()


def test_a_dry_run_lists_the_steps_and_writes_nothing(world: World) -> None:
    digest = propose(raid6_plan())
    steps = json.loads(says(provision_verbs.provision, "--dry-run", "--json"))
    assert (steps["schema_version"], steps["plan_sha256"]) == (1, digest)
    assert steps["steps"][-3:] == ["array data", "array log", "filesystem"]
    assert "   1  partition D0" in says(provision_verbs.provision, "--dry-run")
    assert world.calls == []


def test_the_unit_without_an_approval_says_so_and_ends_well() -> None:
    propose(raid6_plan())
    assert says(provision_verbs.provision, "--if-approved").startswith("no plan is approved")
    assert json.loads(says(provision_verbs.provision, "--if-approved", "--json"))["state"] == "not-approved"


def test_provisioning_reports_the_pool_that_was_built() -> None:
    approve_plan(raid6_plan())
    outcome = json.loads(says(provision_verbs.provision, "--json"))
    assert (outcome["state"], outcome["pool"]["plan_sha256"]) == ("provisioned", raid6_plan().digest())


def test_the_pool_is_shown_with_partition_and_serial_of_every_member(world: World, root: Path) -> None:
    built(world, raid6_plan())
    unmount_all(root)
    shown = says(pool_verbs.pool, "show")
    assert all(serial in shown for serial in ("D0", "D3", "L1", "millrace-data-03"))
    assert json.loads(says(pool_verbs.pool, "show", "--json"))["schema_version"] == 1
    assert json.loads(says(assemble_verbs.assemble, "--json"))["schema_version"] == 1
