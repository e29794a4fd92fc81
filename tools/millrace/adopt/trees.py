# SPDX-License-Identifier: Apache-2.0
"""The directories of a pool that were shares: those with a quota project of Millrace. No tree is walked."""

import fcntl
import os
import struct
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from millrace.errors import MillraceError
from millrace.state.model import FIRST_PROJECT, ShareName
from millrace.system import nofollow
from millrace.system.text import one_line

# linux/fs.h: FS_IOC_FSGETXATTR, and struct fsxattr: flags, extent size, extents, project, CoW extent size, padding
GET_ATTRIBUTES = 0x801C581F
ATTRIBUTES = struct.Struct("=5I8x")
INHERITED = 0x200
"""FS_XFLAG_PROJINHERIT: what is created below has the project, too."""


@dataclass(frozen=True)
class Trees:
    """The project of each share by its name, and in sentences what has a project and is no share.

    `loose` hand their project down no more: their directories had a quota each (millrace.share.child_quota).
    """

    projects: dict[str, int] = field(default_factory=dict)
    loose: set[str] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)


def trees(top: Path) -> Trees:
    """Return what the directories at the top of a pool were. OSError: they cannot be listed."""
    found = Trees()
    for name in sorted(os.listdir(top)):
        flags, project = (0, 0) if name.startswith(".") else _project(top / name)
        if project < FIRST_PROJECT:
            continue
        twin = next((other for other, taken in found.projects.items() if taken == project), None)
        if not _is_share_name(name):
            found.problems.append(f"directory {one_line(name)} cannot be a share by its name")
        elif twin is not None:
            found.problems.append(f"directory {name} has the quota project of {twin}: it is no share of its own")
        else:
            found.projects[name] = project
            if not flags & INHERITED:
                found.loose.add(name)
    return found


def _is_share_name(name: str) -> bool:
    try:
        TypeAdapter(ShareName).validate_python(name)
    except ValidationError:
        return False
    return True


def _project(path: Path) -> tuple[int, int]:
    """The flags and the project of a directory; 0 for anything else, links too."""
    try:
        with nofollow.directory(path) as at:
            flags, _, _, project, _ = ATTRIBUTES.unpack(attributes(at))
    except (MillraceError, OSError):
        return 0, 0
    return flags, project


def attributes(descriptor: int) -> bytes:
    """Return the struct fsxattr of what is open. OSError: the file system has none."""
    return fcntl.ioctl(descriptor, GET_ATTRIBUTES, bytes(ATTRIBUTES.size))
