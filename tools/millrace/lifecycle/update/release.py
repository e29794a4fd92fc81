# SPDX-License-Identifier: Apache-2.0
"""A release whose files are staged: signature first, then the checksum of each file, and nothing is used before."""

import hashlib
import json
import re
from pathlib import Path

from millrace.lifecycle.update import layout, signature, update_paths
from millrace.lifecycle.update.model import Release, ReleaseFile
from millrace.system.documents import read_model
from millrace.system.errors import BadInput
from millrace.system.run import Runner

BLOCK = 1 << 20

_NUMBER = re.compile(r"[0-9]{1,18}")

KINDS = {"usr", "usr-verity", "kernel", "news"}


def signed_sums(directory: Path, run: Runner) -> dict[str, str]:
    """Return the checksums of a release, once their signature is verified. Refused, BadInput: it is not."""
    sums = directory / layout.SUMS
    signature.verify(sums, directory / layout.SIGNATURE, run)
    try:
        checksums = layout.parsed_sums(sums.read_text())
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{layout.SUMS} cannot be read; get the release again") from error
    if checksums is None:
        raise BadInput(f"{layout.SUMS} is no list of checksums; get the release again")
    return checksums


def description(directory: Path, sums: dict[str, str]) -> Release:
    """Return what a staged release consists of. BadInput: it is no release of Millrace, or of a later kind."""
    path = directory / layout.RELEASE
    matches(path, sums)
    release = _known(path)
    if release.image != layout.IMAGE:
        raise BadInput(f"this is a release of {release.image[:64]!r}, not of {layout.IMAGE}")
    if {file.kind for file in release.files} != KINDS or len(release.files) != len(KINDS):
        raise BadInput(f"{layout.RELEASE} does not list the files of a release; get the release again")
    for file in release.files:
        if not layout.is_file_name(file.kind, release.version, file.name) or file.size > layout.LARGEST[file.kind]:
            raise BadInput(f"{layout.RELEASE} names {file.name[:128]!r}, which is no file of a release")
    return release


def matches(path: Path, sums: dict[str, str], size: int | None = None) -> None:
    """Verify a staged file. BadInput: it is not listed, shorter than `size` bytes, or another one."""
    if path.name not in sums:
        raise BadInput(f"{path.name} is not listed in {layout.SUMS}; get the release again")
    found = path.stat().st_size
    if size is not None and found != size:
        raise BadInput(f"{path.name} is truncated: {found} of {size} bytes; get the release again")
    if sha256(path) != sums[path.name]:
        raise BadInput(f"{path.name} is damaged: its checksum is another one; get the release again")


def sha256(path: Path) -> str:
    """Return the sha256 of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()


def staged(run: Runner) -> Release:
    """Return the staged release, every file verified. BadInput: nothing is staged, or a file is not what was signed."""
    directory = update_paths.staged_dir()
    if not (directory / layout.SUMS).is_file():
        raise BadInput("no update is staged: millrace update apply FILE")
    sums = signed_sums(directory, run)
    release = description(directory, sums)
    for file in release.files:
        if not (directory / file.name).is_file():
            raise BadInput(f"{file.name} is missing in the staged update; apply it again")
        matches(directory / file.name, sums, file.size)
    return release


def file_of(release: Release, kind: str) -> ReleaseFile:
    """Return the file of a kind."""
    return next(one for one in release.files if one.kind == kind)


def number(version: str) -> tuple[int, ...]:
    """Return a version as it is ordered; one that is none is older than all."""
    parts = version.split(".")
    return tuple(int(part) for part in parts) if all(map(_NUMBER.fullmatch, parts)) else ()


def news_of(text: str, version: str) -> str:
    """Return what NEWS.md says of a version: the section with its heading, else the first one."""
    sections = [section.strip() for section in f"\n{text}".split("\n## ")[1:]]
    own = [section for section in sections if section.split(maxsplit=1)[:1] == [version]]
    return (own or sections or [""])[0]


def _known(path: Path) -> Release:
    try:
        return read_model(path, Release)
    except BadInput as error:
        try:
            document = json.loads(path.read_text())
        except (OSError, ValueError, RecursionError):
            document = None
        later = (
            isinstance(document, dict)
            and isinstance(document.get("schema_version"), int)
            and document["schema_version"] > 1
        )
        if later:
            raise BadInput("this release needs a later version than this one: install one between them") from error
        raise BadInput(f"{layout.RELEASE} is no description of a release; get the release again") from error
