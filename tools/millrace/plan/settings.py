# SPDX-License-Identifier: Apache-2.0
"""The runtime settings of a server: computed at every boot from hardware, pool and policy. Pure.

What was fixed when the pool was made (layout, chunk, log, file system) is no part of them: it is in pool.json.
"""

from collections.abc import Callable
from typing import Literal, TypeVar

from pydantic import Field, JsonValue

from millrace.plan.defaults import (
    DegradedReads,
    IoSettings,
    MemberSettings,
    PortSettings,
    RebuildSettings,
    SmbdSettings,
    plan_degraded_reads,
    plan_io_modes,
    plan_members,
    plan_port_settings,
    plan_rebuild,
    plan_smbd,
)
from millrace.plan.md import DataArrays, plan_md
from millrace.plan.measured import SECTIONS, MeasuredPolicy, Overrides, attributed, fitting, merged, overrides, unused
from millrace.plan.memory import plan_sysctl
from millrace.plan.model import Decision, MdSettings, Nfsd, Plan
from millrace.plan.nfsd import grace_decision, plan_nfsd
from millrace.plan.override import InapplicablePolicy
from millrace.plan.policy.model import NfsPolicy, Policy
from millrace.plan.ports import plan_ports
from millrace.plan.server import Server
from millrace.system.documents import Contract

Made = TypeVar("Made")

Cause = Literal["hardware", "policy", "pool", "release", "unknown"]

# What a plan decides about runtime, by the first word of its decisions. Exports follow the desired state too.
RUNTIME = frozenset({"md", "nfsd", "sysctl", "ports", "smb", "smbd"})


class RuntimePolicy(Overrides):
    """The sections of the policy that settings depend on, and what the tuner measured and was applied.

    `copy_from` is the key of that name in the policy's section nfs; what else is there does not change a setting.
    """

    copy_from: list[str] = Field(default_factory=list)
    measured: MeasuredPolicy | None = None


class Basis(Contract):
    """What settings are computed from: the hardware, the arrays of the pool and the policy in force.

    `link` is what the PCIe link of the slowest drive carries at most, in KB/s; `ports` are those for data, by
    `port_kinds`.
    """

    server: Server
    link: int
    arrays: DataArrays
    policy: RuntimePolicy
    ports: list[str] = Field(default_factory=list)


class Settings(Contract):
    """All runtime settings; `values` has each with its reason and its source.

    `warnings` name overrides of the policy that this server cannot use: they are ignored. `unused` is why measured
    settings are not in force. `basis` is None for settings that were taken from the approved plan.
    """

    nfsd: Nfsd
    md: MdSettings
    sysctl: dict[str, str]
    values: list[Decision]
    members: MemberSettings = MemberSettings()
    rebuild: RebuildSettings = RebuildSettings()
    degraded_reads: DegradedReads = DegradedReads()
    io: IoSettings = IoSettings()
    smbd: SmbdSettings = SmbdSettings()
    ports: PortSettings = PortSettings()
    warnings: list[str] = Field(default_factory=list)
    unused: str | None = None
    basis: Basis | None = None


class SettingChange(Contract):
    """One setting that is not what it was at the last boot, and what caused it.

    `before_text` and `after_text` are the values with readable sizes. `at` (ISO 8601 in UTC) is when it came in force;
    None where it has not yet.
    """

    name: str
    before: JsonValue
    after: JsonValue
    before_text: str
    after_text: str
    reason: str
    source: str
    causes: list[Cause]
    at: str | None = None


class SettingsFile(Contract):
    """The settings in force (`/run/millrace/settings.json`, `/var/lib/millrace/settings.json`).

    `release` computed them, `at` (ISO 8601 in UTC) is when they came in force. `changes` are those since the last boot.
    `problem` is why they could not be computed in this boot; then they are those of an earlier one.
    """

    schema_version: Literal[1] = 1
    release: str
    at: str
    settings: Settings
    changes: list[SettingChange] = Field(default_factory=list)
    problem: str | None = None


def relevant(policy: Policy, measured: MeasuredPolicy | None = None) -> RuntimePolicy:
    """Return the sections of a policy that settings depend on, with what was measured."""
    return RuntimePolicy(**dict(overrides(policy)), copy_from=policy.nfs.copy_from, measured=measured)


def settings_of(basis: Basis) -> Settings:
    """Return the settings of a server. An override that it cannot use is ignored, with a warning."""
    measured = basis.policy.measured
    if measured is None:
        return _computed(basis, basis.policy)
    without = _computed(basis, basis.policy)
    why = unused(measured, basis.server, basis.arrays)
    if why is not None:
        return without.model_copy(update={"unused": why})
    usable, why = fitting(measured, basis.ports)
    policy, taken = merged(basis.policy, usable)
    settings = _computed(basis, policy)
    values = attributed(settings.values, without.values, usable, taken)
    return settings.model_copy(update={"values": values, "unused": why})


def _computed(basis: Basis, wanted: Overrides) -> Settings:
    server = basis.server
    nfs = NfsPolicy(copy_from=basis.policy.copy_from)
    policy = Policy(nfs=nfs, **{section: getattr(wanted, section) for section in SECTIONS})
    warnings: list[str] = []
    nfsd, about_nfsd = _fitting(lambda wanted: plan_nfsd(server, wanted), policy, warnings)
    md, about_md = _fitting(lambda wanted: plan_md(basis.arrays, basis.link, server, wanted), policy, warnings)
    sysctl, about_sysctl = _fitting(lambda wanted: plan_sysctl(server, wanted), policy, warnings)
    members, about_members = plan_members(policy.md)
    rebuild, about_rebuild = plan_rebuild(policy.md)
    degraded_reads, about_reads = plan_degraded_reads(policy.md)
    smbd, about_smbd = plan_smbd(policy.smbd)
    ports, about_ports = plan_port_settings(policy.ports)
    decisions = [
        *about_md,
        *about_members,
        *about_rebuild,
        *about_reads,
        *about_nfsd,
        grace_decision(nfsd, policy),
        *about_smbd,
        *about_sysctl,
    ]
    return Settings(
        nfsd=nfsd,
        md=md,
        sysctl=sysctl,
        members=members,
        rebuild=rebuild,
        degraded_reads=degraded_reads,
        io=plan_io_modes(policy.nfsd),
        smbd=smbd,
        ports=ports,
        values=_runtime([*decisions, *plan_ports(server, policy.ports), *about_ports]),
        warnings=warnings,
        basis=basis,
    )


def planned_settings(plan: Plan) -> Settings:
    """Return the settings that an approved plan had."""
    return Settings(nfsd=plan.nfsd, md=plan.md, sysctl=plan.sysctl, values=_runtime(plan.decisions))


def _runtime(decisions: list[Decision]) -> list[Decision]:
    return [one for one in decisions if one.name.partition(".")[0] in RUNTIME]


def _fitting(make: Callable[[Policy], Made], policy: Policy, warnings: list[str]) -> Made:
    """What is made of the policy without the overrides that this server cannot use."""
    try:
        return make(policy)
    except InapplicablePolicy as error:
        warnings.append(f"{error.obstacle.what} It is ignored. {error.obstacle.todo}")
        return _fitting(make, _without(policy, error.key), warnings)


def _without(policy: Policy, name: str) -> Policy:
    """The policy without one key; without its section where that key is not what is set."""
    section, _, key = name.partition(".")
    of = getattr(policy, section)
    less = type(of)() if getattr(of, key) is None else of.model_copy(update={key: None})
    return policy.model_copy(update={section: less})
