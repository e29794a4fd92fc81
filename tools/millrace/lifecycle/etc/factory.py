# SPDX-License-Identifier: Apache-2.0
"""What a version brings to /etc, by a list that is made with its image; and what of it is otherwise on this server.

systemd-repart copies the factory's /etc to root once, with this list in it: so it says what every file was at first.
"""

import os
import stat
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

from pydantic import Field

from millrace.serve.render.rendered import digest
from millrace.system import paths
from millrace.system.documents import Contract, read_model
from millrace.system.errors import BadInput, LaterRelease

FACTORY, ETC, LIST = "usr/share/factory/etc", "etc", ".millrace-factory.json"

ABSENT = "absent"

NEVER = (
    LIST,
    # users and groups have numbers and passwords here; systemd-sysusers adds those that a version brings
    *("passwd*", "shadow*", "group*", "gshadow*", "subuid*", "subgid*", ".pwd.lock", "security/opasswd"),
    # identities, and what belongs to a place and its people
    *("machine-id", "hostname", "localtime", "timezone", "locale.conf", "vconsole.conf", "adjtime"),
    *("nvme/host*", "ssh/ssh_host_*", "krb5.keytab", "millrace", "millrace/*"),
    # of systemd-update-done.service
    ".updated",
)
"""Not listed, and never written: paths below /etc."""

MADE = ("ld.so.cache",)
"""Made again by the system from what is there: nobody edits it."""

OWNED = ("*millrace*", "nsswitch.conf", *MADE)
"""Written by Millrace alone: an edit by hand is replaced, and a copy is kept."""


class KeptFile(Contract):
    """A file that is not as this version brings it: `base` is what it was made from, `found` what it is."""

    base: str
    found: str


class Factory(Contract):
    """What may be at each path below /etc: one content, or several while a version's /etc is written.

    `follows` is the sha256 of the list whose files were written completely. `kept` are files that were changed on this
    server, of which the version has another; `problems` are those that could not be written, with the reasons.
    """

    schema_version: Literal[1] = 1
    entries: dict[str, list[str]]
    follows: str | None = None
    kept: dict[str, KeptFile] = Field(default_factory=dict)
    problems: list[str] = Field(default_factory=list)


def factory_dir() -> Path:
    """The /etc that this version brings."""
    return paths.ROOT / FACTORY


def etc_dir() -> Path:
    """The /etc of this server."""
    return paths.ROOT / ETC


def record_file() -> Path:
    """What /etc of this server was made from."""
    return etc_dir() / LIST


def identity(path: Path) -> str:
    """Return what distinguishes a file: its kind, mode and content. Owners have other numbers on other servers."""
    try:
        status = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return ABSENT
    mode = f"{stat.S_IMODE(status.st_mode):04o}"
    if stat.S_ISLNK(status.st_mode):
        return f"link {path.readlink()}"
    if stat.S_ISDIR(status.st_mode):
        return f"directory {mode}"
    if stat.S_ISREG(status.st_mode):
        return f"file {mode} {digest(path.read_bytes())}"
    return "other"


def listed(directory: Path) -> Factory:
    """Return the list of a factory's /etc, which the build puts into it."""
    return Factory(entries={name: [identity(directory / name)] for name in sorted(_names(directory))})


def present() -> tuple[Factory, str] | None:
    """Return what this version brings, with the sha256 of its list; None for one without a list.

    BadInput: the list cannot be read.
    """
    path = factory_dir() / LIST
    if not path.is_file():
        return None
    return read_model(path, Factory), digest(path.read_bytes()) or ""


def recorded(mine: Factory, follows: str) -> Factory:
    """Return what /etc of this server was made from; nothing is known of it where that cannot be read.

    LaterRelease: a later version wrote it in another schema, with a meaning that is not known.
    """
    try:
        record = read_model(record_file(), Factory)
    except LaterRelease:
        raise
    except BadInput:
        return Factory(entries={})
    # as systemd-repart copied it
    return record.model_copy(update={"follows": follows}) if record == mine else record


def unlike() -> list[str]:
    """Return the files that were changed here and of which this version has another; one that is edited is resolved.

    Names are below /etc.
    """
    try:
        found = read_model(record_file(), Factory)
    except BadInput:
        return []
    return sorted(name for name, one in found.kept.items() if identity(etc_dir() / name) == one.found)


def trouble() -> str | None:
    """Return why /etc is not what this version brings; None where it is, or the version brings nothing."""
    try:
        here = present()
    except BadInput as error:
        return str(error)
    if here is None:
        return None
    try:
        record = recorded(*here)
    except LaterRelease as error:
        return f"{error}; until then /etc stays as it is"
    if record.problems:
        return "; ".join(record.problems[:3])
    if record.follows != here[1]:
        return "millrace-etc.service did not end"
    return None


def is_never(name: str) -> bool:
    """Whether a path below /etc belongs to this server alone."""
    return any(fnmatchcase(name, one) for one in NEVER)


def is_owned(name: str) -> bool:
    """Whether a path below /etc is written by Millrace alone."""
    return any(fnmatchcase(name, one) for one in OWNED)


def _names(directory: Path) -> Iterator[str]:
    for where, directories, files in os.walk(directory):
        for name in (*directories, *files):
            path = str((Path(where) / name).relative_to(directory))
            if not is_never(path):
                yield path
