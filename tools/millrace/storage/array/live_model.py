# SPDX-License-Identifier: Apache-2.0
"""The arrays of the pool as md has them now."""

from typing import Literal

from millrace.plan.model import Role
from millrace.storage.record.scrub_record import Scrubbed
from millrace.system.documents import Contract

MemberState = Literal["in-sync", "rebuilding", "spare", "faulty", "missing", "unknown"]


Action = Literal["first synchronisation", "rebuild", "check", "repair", "reshape"]


class Member(Contract):
    """One member of an array: a partition of the drive `serial`, or for a raid0 over legs the array of that name.

    `device` is the kernel's name of now, null for what is not there. `errors` are those that md corrected. `planned`
    is false for a drive that was put in later.
    """

    serial: str
    label: str
    bay: str | None
    device: str | None
    state: MemberState
    errors: int | None
    planned: bool


class Sync(Contract):
    """What md does with an array. `progress` from 0 to 1, null while it waits for another array on the same drives."""

    action: Action
    progress: float | None
    bytes_per_second: int | None
    seconds_left: float | None


class LiveArray(Contract):
    """One array. `state` is md's own word (clean, active, readonly, …) and `missing` where the array does not run.

    `degraded` is how many members it lacks, `may_fail` how many more it can lose without losing data; both null where
    the kernel does not report it, and for a raid0 over legs, which have their own. Sizes in bytes. `last_scrub` is the
    last check that came to its end, null where there was none.
    """

    name: str
    level: Literal["raid0", "raid1", "raid5", "raid6"]
    role: Role
    uuid: str
    device: str | None
    state: str
    size: int | None
    chunk: int | None
    legs: list[str]
    degraded: int | None
    may_fail: int | None
    members: list[Member]
    sync: Sync | None
    last_scrub: Scrubbed | None
