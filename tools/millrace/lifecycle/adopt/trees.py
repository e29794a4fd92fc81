# SPDX-License-Identifier: Apache-2.0
"""The directories of a pool that were shares: those with a quota project of Millrace. No tree is walked."""

import os
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from millrace.serve.config.model import FIRST_PROJECT, ShareName
from millrace.system import reflink
from millrace.system.errors import MillraceError
from millrace.system.text import one_line
from millrace.system.trees import nofollow


@dataclass(frozen=True)
class Trees:
    """The project of each share by its name, and in sentences what has a project and is no share.

    `loose` hand their project down no more: their directories had a quota each (millrace.serve.share.child_quota).
    """

    projects: dict[str, int] = field(default_factory=dict)
    loose: set[str] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)


def trees(top: Path) -> Trees:
    """Return what the directories at the top of a pool were. OSError: they cannot be listed."""
    directories = Trees()
    for name in sorted(os.listdir(top)):
        project, inherited = (0, False) if name.startswith(".") else _project(top / name)
        if project < FIRST_PROJECT:
            continue
        twin = next((other for other, taken in directories.projects.items() if taken == project), None)
        if not _is_share_name(name):
            directories.problems.append(f"directory {one_line(name)} cannot be a share by its name")
        elif twin is not None:
            directories.problems.append(f"directory {name} has the quota project of {twin}: it is no share of its own")
        else:
            directories.projects[name] = project
            if not inherited:
                directories.loose.add(name)
    return directories


def _is_share_name(name: str) -> bool:
    try:
        TypeAdapter(ShareName).validate_python(name)
    except ValidationError:
        return False
    return True


def _project(path: Path) -> tuple[int, bool]:
    """The project of a directory and whether it hands it down; 0 for anything else, links too."""
    try:
        with nofollow.directory(path) as at:
            return reflink.project(at), reflink.hands_down(at)
    except (MillraceError, OSError):
        return 0, False
