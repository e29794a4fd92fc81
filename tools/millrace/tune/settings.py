# SPDX-License-Identifier: Apache-2.0
"""The settings of this server: computed from the hardware of now, else the last ones that were.

They wait for no inventory: what they depend on is in sysfs, and a drive whose probe hangs must not delay serving.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from millrace import __version__
from millrace.inventory import cpus
from millrace.inventory.nics import nics
from millrace.inventory.present import present
from millrace.plan import measured
from millrace.plan.md import DataArrays, data_arrays, no_arrays, slowest_link
from millrace.plan.model import Role
from millrace.plan.policy.policy_in_force import find
from millrace.plan.server import Server, port_kinds, server_with
from millrace.plan.settings import Basis, RuntimePolicy, Settings, SettingsFile, planned_settings, relevant, settings_of
from millrace.plan.settings_changes import changes, merged_changes
from millrace.storage.record.model import Pool
from millrace.storage.record.pool_file import approved_plan, current_arrays, roles
from millrace.storage.record.settings_record import read_settings, recorded
from millrace.system import paths
from millrace.system.documents import write_model
from millrace.system.errors import Failed, MillraceError
from millrace.system.files import describe
from millrace.system.run import Runner, attempt
from millrace.system.text import GIB
from millrace.system.wait import wait_until

# A port whose driver loads its firmware comes seconds after the others; nfsd cannot change its pools while it runs.
PORT_PAUSES = (1.0,) * 15


@dataclass(frozen=True)
class SettingsFound:
    """Settings to serve with. `problem` is why they could not be computed, `policy` why not by the policy's file."""

    settings: Settings
    problem: str | None = None
    policy: str | None = None


def current(pool: Pool, run: Runner = attempt) -> SettingsFound:
    """Return the settings of now: computed, else those of the last time, else those of the plan; never an error."""
    try:
        policy, applied = find(), measured.find()
        settings = settings_of(_basis(pool, relevant(policy.policy, applied.measured), run))
        if applied.problem:
            settings = settings.model_copy(update={"unused": applied.problem})
        return SettingsFound(settings, policy=policy.problem)
    except (OSError, ValueError, MillraceError) as error:
        why = f"the settings of this server cannot be computed: {error}"
    last = recorded()
    if last is not None:
        return SettingsFound(last.settings, f"{why}; those of {last.at} stay in force")
    plan = approved_plan()
    if plan is not None:
        return SettingsFound(planned_settings(plan), f"{why}; those of the approved plan are in force")
    least = Server(memory=GIB, cores=1, cores_per_node=1, compute_nodes=1, nic_cores=0, nic_nodes=[], port_cores={})
    basis = Basis(server=least, link=0, arrays=_arrays(pool), policy=RuntimePolicy())
    return SettingsFound(settings_of(basis), f"{why}; those of the smallest server are in force")


def at_boot(pool: Pool, run: Runner, pause: Callable[[float], None] = time.sleep) -> SettingsFound:
    """Return the settings of now, as `current`; first wait some seconds for ports that were there at the last boot."""
    last = None if paths.settings_file().exists() else recorded()
    nodes = set(last.settings.basis.server.nic_nodes) if last and last.settings.basis else set()

    def complete(found: SettingsFound) -> bool:
        basis = found.settings.basis
        return basis is None or nodes <= set(basis.server.nic_nodes)

    return wait_until(lambda: current(pool, run), complete, PORT_PAUSES, pause)


def in_force(pool: Pool) -> Settings:
    """Return the settings that this server runs with: those that were recorded, else computed now."""
    found = recorded()
    return found.settings if found else current(pool).settings


def update(outcome: SettingsFound, applied: bool = True) -> SettingsFile:
    """Return the record of settings that come in force, with what changed since the last boot; nothing is written.

    Compared with the last record, or with the approved plan where there is none. Without `applied` what changed after
    the last record is not in force yet.
    """
    now = datetime.now(UTC).isoformat(timespec="seconds")
    this_boot, last = read_settings(paths.settings_file()), read_settings(paths.last_settings_file())
    before = this_boot or last
    plan = approved_plan() if before is None else None
    old = before.settings if before else planned_settings(plan) if plan else None
    new = changes(old, outcome.settings, now if applied else None) if old else []
    earlier = this_boot.changes if this_boot else []
    same = this_boot is not None and this_boot.settings == outcome.settings
    return SettingsFile(
        release=__version__,
        at=this_boot.at if this_boot and same else now,
        settings=outcome.settings,
        changes=merged_changes(earlier, new),
        problem=outcome.problem,
    )


def record(document: SettingsFile) -> str | None:
    """Write the settings that came in force; those that had to be taken from an earlier time are no new last ones.

    They are set whatever the boot drive takes: return why it does not take what the next boot compares with, in a
    sentence. Nothing is written to it where it has them. OSError: this boot's record, in memory, cannot be written.
    """
    write_model(paths.settings_file(), document)
    last = read_settings(paths.last_settings_file())
    same = last is not None and (last.settings, last.release) == (document.settings, document.release)
    if document.problem is not None or same:
        return None
    try:
        write_model(paths.last_settings_file(), document)
    except OSError as error:
        return f"the settings are in force, but the boot drive does not take their record: {describe(error)}"
    return None


def _basis(pool: Pool, policy: RuntimePolicy, run: Runner) -> Basis:
    memory, nodes = cpus.memory(paths.ROOT), cpus.nodes(paths.ROOT)
    if not memory or not any(node.cores for node in nodes):
        raise Failed("memory and CPUs cannot be read from /proc and /sys")
    data = {serial for serial, role in roles(pool).items() if role is Role.DATA}
    cards = nics(paths.ROOT, run)
    return Basis(
        server=server_with(memory, nodes, cards),
        link=slowest_link(drive for drive in present() if drive.serial in data),
        arrays=_arrays(pool),
        policy=policy,
        ports=port_kinds(cards),
    )


def _arrays(pool: Pool) -> DataArrays:
    if pool.backend == "external":
        return no_arrays(pool.filesystem.stripe_unit)
    return data_arrays(current_arrays(pool))
