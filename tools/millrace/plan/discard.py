# SPDX-License-Identifier: Apache-2.0
"""Whether blocks that XFS frees are deallocated on the drives, by millrace-trim.service."""

from collections.abc import Sequence

from millrace.inventory.model import Drive
from millrace.plan import sources
from millrace.plan.finding import PlanFinding, Severity
from millrace.plan.layout import Layout
from millrace.plan.model import Decision
from millrace.plan.override import by_policy
from millrace.plan.policy.model import Policy
from millrace.plan.sizes import down_to_power_of_two
from millrace.system.text import binary

WEEKLY, NEVER = "weekly", "never"
# NVMe base specification, Identify Namespace, DLFEAT: the lowest three bits are what a deallocated block reads as.
READ_BEHAVIOUR, ZEROES = 0b111, 0b001
SHOWN = 4

TRIM_SHARE = 0.25
"""The part of the time in its window that a trim takes at most. An estimate: on the emulated server of
`tools/perf trim` md takes 30 µs for 4 KiB of each of ten drives, where a real core needs a third of the time. 61 TB of
free space then take 5 hours of FITRIM, with pauses 21 of the 48 hours that the window is open in two months; checks
take 21, too. Clients have the stripe cache to themselves in three seconds of four."""
SLICE_SECONDS = 1.0
"""How long one FITRIM is to take: a client may wait for md, and a check or a shutdown for the trim, so long."""


def reads_zeroes(drive: Drive) -> bool:
    """Whether a drive guarantees that deallocated blocks read as zeroes."""
    return drive.dlfeat is not None and drive.dlfeat & READ_BEHAVIOUR == ZEROES


def plan_discard(layout: Layout, policy: Policy) -> tuple[bool, Decision]:
    """Return whether discards may reach the drives of the data, and why."""
    hindrance = _hindrance(layout)
    planned = hindrance is None and policy.md.discard is None
    members = [drive for leg in layout.legs for drive in leg]
    guarantee = (
        "Every data drive and hot spare guarantees that deallocated blocks read as zeroes, so that parity and copies "
        "still match after a discard"
        if len(members) > 1
        else "The drive deallocates blocks, and there is no copy that they must match"
    )
    decision = Decision(
        name="discard",
        value=WEEKLY if planned else NEVER,
        reason=hindrance
        or f"{guarantee}: free space is deallocated once a week, in the window of checks. Slices of about "
        f"{SLICE_SECONDS:g} s with pauses take {TRIM_SHARE * 100:g} % of the time at most: all at once would hold up "
        "clients for hours. The file system is never mounted with the option discard.",
        source=sources.RAID5_DISCARD if hindrance else f"{sources.RAID5_DISCARD}; {sources.TRIM}",
    )
    return planned, by_policy(decision, "md.discard", NEVER if hindrance else WEEKLY) if policy.md.discard else decision


def audit_discard(data: Sequence[Drive]) -> list[PlanFinding]:
    """Return a finding where only some of the data drives guarantee zeroes: they keep discards from the others."""
    without = [drive for drive in data if not reads_zeroes(drive)]
    if not without or len(without) == len(data):
        return []
    return [
        PlanFinding(
            name="drives.discard",
            severity=Severity.INFO,
            subject="data drives",
            what=f"{_serials(without)} {_verb(without)} not guarantee that deallocated blocks read as zeroes (NVMe "
            "DLFEAT): no free space of the pool is trimmed.",
            todo="Use drives that report DLFEAT 1 if possible: trimmed drives keep their write speed.",
        )
    ]


def _hindrance(layout: Layout) -> str | None:
    """Why no discard may reach the drives, as a sentence; None where nothing stands against it."""
    drives = [*(drive for leg in layout.legs for drive in leg), *layout.spares]
    without = [drive for drive in drives if not reads_zeroes(drive)]
    if len(drives) > 1 and without:
        return (
            f"{_serials(without)} {_verb(without)} not guarantee that deallocated blocks read as zeroes (NVMe DLFEAT): "
            f"after a discard {'parity' if layout.parity else 'the copies'} would no longer match, and free space is "
            "never trimmed."
        )
    unable = [drive for drive in drives if not drive.max_discard]
    if unable:
        return f"{_serials(unable)} {_verb(unable)} not deallocate blocks, so that free space is never trimmed."
    stripe = _stripe(layout)
    least = min(drive.max_discard or 0 for drive in drives)
    if stripe > least:
        return (
            f"A drive deallocates at most {binary(least)} at once, and md discards whole stripes, rounded up to "
            f"{binary(stripe)}: free space is never trimmed. A smaller layout.chunk_kib in the policy makes smaller "
            "stripes."
        )
    return None


def _stripe(layout: Layout) -> int:
    """Bytes that md compares with what each member discards at once, 0 without parity."""
    if not layout.parity:
        return 0
    stripe = (layout.redundant.chunk or 0) * layout.redundant.data_members
    # kernel 7.2: raid5_set_limits rounds up
    return 2 * down_to_power_of_two(stripe - 1)


def _serials(drives: Sequence[Drive]) -> str:
    names, rest = ", ".join(drive.serial for drive in drives[:SHOWN]), len(drives) - SHOWN
    return f"{'Drive' if len(drives) == 1 else 'Drives'} {names}" + (f" and {rest} more" if rest > 0 else "")


def _verb(drives: Sequence[Drive]) -> str:
    return "does" if len(drives) == 1 else "do"
