# SPDX-License-Identifier: Apache-2.0
"""Settings that the plan leaves at the default of the kernel, a driver or Samba, but for what the policy has. Pure."""

from typing import Final, Literal

from pydantic import JsonValue

from millrace.plan import sources
from millrace.plan.model import Decision
from millrace.plan.override import by_policy
from millrace.plan.policy.model import IoMode, MdPolicy, NfsdPolicy, PortsPolicy, SmbdPolicy
from millrace.system.documents import Contract

ADAPTIVE: Final = "adaptive"
BUFFERED: Final = "buffered"
CREDITS, AIO_BYTES = 8192, 1
"""Samba's own: `smb2 max credits`, and `aio read size` and `aio write size`."""


class MemberSettings(Contract):
    """The queue of each drive in an array: requests that wait in it, and the largest in KiB; None is the kernel's."""

    requests: int | None = None
    max_kib: int | None = None


class RebuildSettings(Contract):
    """What a rebuild gets of each drive at least beside clients, in KiB/s; None: by redundancy and priority."""

    least: int | None = None


class DegradedReads(Contract):
    """Whether reads of a degraded array that need no missing drive bypass md's stripe cache (rebuilt raid456 only)."""

    direct: bool = True


class PortSettings(Contract):
    """Microseconds that each data port waits before an interrupt, or `adaptive`; None is the driver's.

    `interrupt_cores` of its node take the interrupts of each port; None is one for each queue. Each port has
    `most_queues` queues at most; None is one for each core of its node. `rx_ring` and `tx_ring` are the descriptors of
    each of its rings; None is the driver's.
    """

    rx_usecs: int | Literal["adaptive"] | None = None
    interrupt_cores: int | None = None
    most_queues: int | None = None
    rx_ring: int | None = None
    tx_ring: int | None = None


class IoSettings(Contract):
    """How nfsd reads and writes files; None is the kernel's, which is `BUFFERED`."""

    read: IoMode | None = None
    write: IoMode | None = None


class SmbdSettings(Contract):
    """What smbd has for each connection: credits, and the smallest read or write in bytes that is asynchronous.

    A credit is a request, or 64 KiB of a large one.
    """

    max_credits: int = CREDITS
    aio_min_bytes: int = AIO_BYTES


def plan_members(wanted: MdPolicy) -> tuple[MemberSettings, list[Decision]]:
    """Return the queues of the members: the kernel's, but for what the policy has."""
    found = MemberSettings(requests=wanted.member_requests, max_kib=wanted.member_max_kib)
    return found, _decisions({"md.member_requests": found.requests, "md.member_max_kib": found.max_kib})


def plan_rebuild(wanted: MdPolicy) -> tuple[RebuildSettings, list[Decision]]:
    """Return what a rebuild gets at least: by redundancy and priority, but for what the policy has."""
    found = RebuildSettings(least=wanted.rebuild_min_kib)
    return found, _decisions({"md.rebuild_min_kib": found.least})


def plan_degraded_reads(wanted: MdPolicy) -> tuple[DegradedReads, list[Decision]]:
    """Return how reads of a degraded array go: directly, but for what the policy has."""
    found = DegradedReads(direct=wanted.direct_degraded_reads is not False)
    return found, _decisions({"md.direct_degraded_reads": wanted.direct_degraded_reads})


def plan_io_modes(wanted: NfsdPolicy) -> IoSettings:
    """Return the I/O modes of nfsd: the kernel's, but for what the policy has."""
    return IoSettings(read=wanted.io_cache_read, write=wanted.io_cache_write)


def plan_smbd(wanted: SmbdPolicy) -> tuple[SmbdSettings, list[Decision]]:
    """Return the settings of smbd: Samba's, but for what the policy has."""
    found = SmbdSettings.model_validate(wanted.model_dump(exclude_none=True))
    return found, _decisions({f"smbd.{key}": value for key, value in wanted.model_dump().items()})


def plan_port_settings(wanted: PortsPolicy) -> tuple[PortSettings, list[Decision]]:
    """Return the settings of the data ports: the driver's and all cores of their node, but for what the policy has."""
    found = PortSettings.model_validate(wanted.model_dump())
    return found, _decisions({f"ports.{key}": value for key, value in wanted.model_dump().items()})


def default_of(name: str) -> str:
    """Return in words what a setting is that the plan does not decide, such as `md.member_requests`."""
    if name == "smbd.max_credits":
        return f"Samba's default, {CREDITS}"
    if name == "md.rebuild_min_kib":
        return "by the redundancy that is left and the priority"
    if name == "md.direct_degraded_reads":
        return "on"
    if name == "ports.interrupt_cores":
        return "one for each queue"
    if name == "ports.most_queues":
        return "one for each core of its node"
    if name.startswith("ports."):
        return "the driver's default"
    return "Samba's default, all of them" if name == "smbd.aio_min_bytes" else "the kernel's default"


def _decisions(values: dict[str, JsonValue]) -> list[Decision]:
    return [
        by_policy(Decision(name=name, value=value, reason="", source=sources.POLICY), name, default_of(name))
        for name, value in values.items()
        if value is not None
    ]
