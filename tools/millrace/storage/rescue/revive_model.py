# SPDX-License-Identifier: Apache-2.0
"""What `millrace pool revive --json` prints."""

from typing import Literal

from pydantic import Field

from millrace.system.documents import Contract

Part = Literal["current", "brought-back", "rebuilt", "not-filled", "kept-apart", "missing", "unreadable"]


class RevivedMember(Contract):
    """A member of an array that does not run. `device` is the kernel's name, null for one that is missing.

    `events` is the event count of its superblock, `written` when that was written last (ISO 8601). `part` is what
    becomes of it: `current` was a member until the end, `brought-back` left before and is started with, `rebuilt` left
    earlier and is filled again, `not-filled` never held all of its data, `kept-apart` may be newer than those that are
    started, and nothing is written to it.
    """

    serial: str
    bay: str | None
    device: str | None
    slot: int | None
    events: int | None
    written: str | None
    part: Part


class RevivedArray(Contract):
    """An array that does not run or is broken. `needed` is with how many members it starts.

    `possible`: it can be started. `doubt` is why it does not start by itself. `broke` is when it broke (ISO 8601), null
    where that was not recorded. `recorded`: the order in which its members failed is. `newer` are the serials of
    members that may have what was acknowledged after `since` (ISO 8601, null where that is not known) and those to
    start with lack; `older`: they have it.
    """

    uuid: str
    name: str
    level: str
    needed: int
    broke: str | None
    possible: bool
    doubt: str | None
    recorded: bool = False
    older: bool = False
    newer: list[str] = Field(default_factory=list)
    since: str | None = None
    members: list[RevivedMember]


class Revival(Contract):
    """What a revival of the pool does, or did. `sha256` confirms it. `report` has a line for each array afterwards."""

    schema_version: Literal[1] = 1
    sha256: str
    arrays: list[RevivedArray]
    done: bool = False
    report: list[str] = Field(default_factory=list)


class RevivalOrder(Contract):
    """A revival as an administrator confirmed it: `wanted` are serials of members that left, `digest` is the plan."""

    wanted: list[str]
    digest: str


class RevivalProgress(Contract):
    """The lines that a revival has reported; `revival` is what it did, null until it has ended well."""

    lines: list[str]
    revival: Revival | None = None
