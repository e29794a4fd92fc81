# SPDX-License-Identifier: Apache-2.0
"""What the tuner measured on this server and an administrator applied: a part of the policy, in a file of its own.

It overrides the policy's file for the keys that it has, until an administrator changes one of them there: then that is
the newer decision. On other hardware it is not used.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from millrace.plan import sources
from millrace.plan.defaults import default_of
from millrace.plan.md import DataArrays
from millrace.plan.model import Decision
from millrace.plan.policy.model import MdPolicy, NfsdPolicy, Policy, PortsPolicy, SmbdPolicy, SysctlPolicy
from millrace.plan.server import Server
from millrace.plan.values import in_words
from millrace.system import paths
from millrace.system.documents import Contract, read_model
from millrace.system.errors import BadInput
from millrace.system.text import moment

SECTIONS = ("nfsd", "md", "sysctl", "smbd", "ports")
"""Sections of the policy that settings depend on."""


class Overrides(Contract):
    """The sections of the policy that settings depend on."""

    nfsd: NfsdPolicy = NfsdPolicy()
    md: MdPolicy = MdPolicy()
    sysctl: SysctlPolicy = SysctlPolicy()
    smbd: SmbdPolicy = SmbdPolicy()
    ports: PortsPolicy = PortsPolicy()

    def names(self) -> Iterator[str]:
        """Yield the keys that are set, as `md.stripe_cache_size`."""
        for section in SECTIONS:
            of = getattr(self, section)
            yield from (f"{section}.{key}" for key in type(of).model_fields if getattr(of, key) is not None)

    def get(self, name: str) -> Any:
        """Return the value of a key; None where it is not set."""
        section, _, key = name.partition(".")
        return getattr(getattr(self, section), key)

    def having(self, name: str, value: Any) -> "Overrides":
        """Return these with another value of one key; it is not validated."""
        section, _, key = name.partition(".")
        changed = getattr(self, section).model_copy(update={key: value})
        return self.model_copy(update={section: changed})


def overrides(policy: Policy) -> Overrides:
    """Return the sections of a policy that settings depend on."""
    return Overrides(**{section: getattr(policy, section) for section in SECTIONS})


class MeasuredPolicy(Contract):
    """The settings of a tuner's run that were applied (`/etc/millrace/measured.json`).

    `at` (ISO 8601 in UTC) is when they were measured, `by` who applied them. `replaced` is what the policy's file had
    for these keys then. `server`, `arrays` and `ports` (`port_kinds`; None: not recorded) are the hardware.
    """

    schema_version: Literal[1] = 1
    run: str
    at: str
    by: str
    values: Overrides
    replaced: Overrides = Overrides()
    server: Server
    arrays: DataArrays
    ports: list[str] | None = None


@dataclass(frozen=True)
class FoundMeasured:
    """The measured settings, and one sentence on the file where it cannot be read."""

    measured: MeasuredPolicy | None = None
    problem: str | None = None


def file() -> Path:
    """The measured settings that are in force."""
    return paths.policy_file().with_name("measured.json")


def find() -> FoundMeasured:
    """Return what was applied; a file that cannot be read stops nothing."""
    if not file().exists():
        return FoundMeasured()
    try:
        return FoundMeasured(read_model(file(), MeasuredPolicy))
    except BadInput as error:
        return FoundMeasured(problem=f"{error}; the measured settings are not used")


def unused(measured: MeasuredPolicy, server: Server, arrays: DataArrays) -> str | None:
    """Return why measured settings are not used on this server, in one sentence; None where they are."""
    then, now = measured.server, server
    differing = [
        words
        for words, same in (
            ("memory", then.memory == now.memory),
            ("CPUs", (then.cores, then.compute_nodes) == (now.cores, now.compute_nodes)),
            ("arrays", measured.arrays == arrays),
        )
        if not same
    ]
    if not differing:
        return None
    return (
        f"The settings of tuner run {measured.run} are not used: this server has other {' and '.join(differing)} "
        f"than on {moment(measured.at)}, when they were measured."
    )


def fitting(measured: MeasuredPolicy, ports: list[str]) -> tuple[MeasuredPolicy, str | None]:
    """Return what of measured settings fits the ports of this server; and why not all of it, in one sentence."""
    if measured.ports in (None, ports) or measured.values.ports == PortsPolicy():
        return measured, None
    values = measured.values.model_copy(update={"ports": PortsPolicy()})
    return measured.model_copy(update={"values": values}), (
        f"The setting of ports of tuner run {measured.run} is not used: this server has other network ports than on "
        f"{moment(measured.at)}, when it was measured."
    )


def merged(policy: Overrides, measured: MeasuredPolicy) -> tuple[Overrides, list[str]]:
    """Return the policy with what was measured, and the keys that are from there."""
    taken = []
    for name in measured.values.names():
        if policy.get(name) == measured.replaced.get(name):
            policy = policy.having(name, measured.values.get(name))
            taken.append(name)
    return policy, taken


def source(measured: MeasuredPolicy) -> str:
    """Return where a value is from, for `plan --explain` and `tune --settings`."""
    return f"{sources.MEASURED} on {moment(measured.at)}, run {measured.run}"


def attributed(
    decisions: list[Decision], otherwise: list[Decision], measured: MeasuredPolicy, taken: list[str]
) -> list[Decision]:
    """Return the decisions with the run as the source of those it changed; `otherwise` are those without it."""
    before = {decision.name: decision for decision in otherwise}
    sourced = []
    for decision in decisions:
        of = decision.source.removeprefix(f"{sources.POLICY}: ")
        keys = [key for key in of.split(" and ") if key in taken] if of != decision.source else []
        if keys:
            was = before.get(decision.name)
            without = in_words(decision.name, was.value) if was else default_of(decision.name)
            reason = f"Measured on this server and applied ({' and '.join(keys)}); without it: {without}."
            sourced.append(decision.model_copy(update={"reason": reason, "source": source(measured)}))
        else:
            sourced.append(decision)
    return sourced
