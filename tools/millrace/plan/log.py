# SPDX-License-Identifier: Apache-2.0
"""The place of the file system's log."""

from dataclasses import dataclass
from typing import Literal

from millrace.inventory.model import Drive
from millrace.plan import sources
from millrace.plan.drives import Groups
from millrace.plan.model import Decision
from millrace.plan.override import InapplicablePolicy, by_policy
from millrace.plan.policy.model import Policy
from millrace.plan.sizes import log_partition_size, partition_size
from millrace.plan.sockets import Leg, most_separated, separated_pair, separation_from, separation_of
from millrace.system.text import binary, size

Mode = Literal["pair", "partition", "internal"]


@dataclass(frozen=True)
class Log:
    """`drives` carry the mirror, `spare` waits for one of them; `partition` in bytes, 0 for a log inside XFS.

    Unless the log is inside XFS every data drive has such a partition: a side of the mirror can move to any of them.
    """

    mode: Mode
    drives: list[Drive]
    spare: Drive | None
    partition: int

    @property
    def title(self) -> str:
        """The part of the plan's title on the log."""
        if self.mode == "internal":
            return "log inside the file system"
        if self.mode == "partition":
            return f"file system log on RAID1 of two {binary(self.partition)} partitions"
        return "RAID1 of 2 small drives with a hot spare for the file system log"


def plan_log(groups: Groups, legs: list[Leg], parity: bool, policy: Policy) -> tuple[Log, Decision]:
    """Place the log on two small drives, else on partitions of the data drives, else (without parity) inside XFS.

    InapplicablePolicy: the policy asks for a place that these drives do not offer.
    """
    computed: Mode = "pair" if groups.log else "partition" if parity else "internal"
    mode = policy.log.mode or computed
    data = [drive for leg in legs for drive in leg]
    if mode == "pair" and not groups.log:
        raise InapplicablePolicy(
            "log.mode",
            f"of {len(groups.data) + len(groups.unused)} drives no two are clearly smaller than the data drives.",
            'Add two small drives, or choose "partition" or "internal".',
        )
    if mode == "partition" and len(data) < 2:
        raise InapplicablePolicy(
            "log.mode", "one data drive cannot carry both sides of a mirror.", 'Choose "internal".'
        )
    log = _log(mode, groups, data)
    decision = Decision(
        name="log",
        value={"mode": mode, "drives": [drive.serial for drive in log.drives], "partition": log.partition},
        reason=_reason(log, data),
        source=sources.XFS_LOG_PLACE if mode != "pair" else sources.TALK_SHAPES,
    )
    return log, by_policy(decision, "log.mode", computed) if policy.log.mode else decision


def _log(mode: Mode, groups: Groups, data: list[Drive]) -> Log:
    if mode == "pair":
        small = [*groups.log, *([groups.log_spare] if groups.log_spare else [])]
        partition = min(log_partition_size(groups.data), partition_size(small))
        return Log(mode, groups.log, groups.log_spare or most_separated(data, groups.log), partition)
    if mode == "partition":
        pair = separated_pair(data)
        return Log(mode, pair, most_separated(data, pair), log_partition_size(groups.data))
    return Log(mode, [], None, 0)


def _reason(log: Log, data: list[Drive]) -> str:
    if log.mode == "internal":
        return "The log is inside the file system: on a mirror small log writes cause no read-modify-write."
    return f"{_place(log)} {_spare(log, data)} {_room(log)}"


def _place(log: Log) -> str:
    if log.mode == "pair":
        return (
            f"Two drives of {size(min(drive.size for drive in log.drives))}, {separation_of(log.drives)}, keep the "
            "small log writes off the data drives."
        )
    serial, other = (drive.serial for drive in log.drives)
    return (
        f"Without two small drives the log is a mirror on {serial} and {other}, {separation_of(log.drives)}. "
        "Its small writes cause no read-modify-write of a stripe."
    )


def _spare(log: Log, data: list[Drive]) -> str:
    if log.spare is None:
        return "It has no hot spare: there is no third drive."
    where = f"{log.spare.serial}, {separation_from(log.spare, log.drives)},"
    if log.mode == "pair" and log.spare in data:
        return (
            f"Its hot spare is a partition of data drive {where} so that md rebuilds a lost side of the mirror "
            "within seconds; until the small drive is replaced, log writes share that data drive."
        )
    return f"Its hot spare is {where} so that md rebuilds a lost side of the mirror within seconds."


def _room(log: Log) -> str:
    rest = " The rest of the small drives stays empty." if log.mode == "pair" else ""
    return (
        f"{binary(log.partition)} (1/64 of a data drive, 96 MiB to 4 GiB) are reserved on every data drive, "
        "so that a side "
        f"of the mirror can move to any of them.{rest}"
    )
