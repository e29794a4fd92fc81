# SPDX-License-Identifier: Apache-2.0
"""Looking at a server through its capture, as if it were this one."""

import hashlib
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TypeVar

from millrace import command
from millrace.command import Result
from millrace.errors import BadInput
from millrace.inventory.capture import COMMANDS, MANIFEST, Answer, Manifest, at_home
from millrace.inventory.collect import collect
from millrace.inventory.finding import Finding, failed
from millrace.inventory.model import DriveState, Evidence, Inventory
from millrace.store import read_input

NOT_CAPTURED = 127
Kind = TypeVar("Kind", Manifest, Answer)


def inventory_of(place: Path) -> Inventory:
    """The inventory of a capture: the archive, or the directory that it was unpacked into."""
    if place.is_dir():
        return Replay(place).collect()
    if not place.exists():
        raise BadInput(f"{place} is missing")
    with _unpacked(place) as directory:
        return Replay(directory, shown_as=str(place)).collect()


class Replay:
    """Answers from a directory. What was not captured fails like a tool that is not installed: it proves nothing."""

    def __init__(self, directory: Path, shown_as: str | None = None) -> None:
        self._root, self._shown = directory.resolve(), shown_as or str(directory)
        manifest = self._read(MANIFEST, Manifest)
        for path, digest in manifest.files.items():
            self._check(path, digest)
        answers = [self._read(path, Answer) for path in manifest.files if path.startswith(f"{COMMANDS}/")]
        self._answers = {tuple(answer.argv): answer for answer in answers}

    def collect(self) -> Inventory:
        """Look at the captured server."""
        return collect(self._root, self.run, self.read)

    def run(self, argv: Sequence[str]) -> Result:
        """What the tool said on the server."""
        answer = self._answers.get(tuple(at_home(self._root, word) for word in argv))
        if answer is None or answer.surface is not None:
            return Result(NOT_CAPTURED, "", "not in the capture")
        return Result(answer.status, answer.out, answer.err)

    def read(self, device: Path, size: int) -> list[Finding]:
        """What the first and last bytes of the drive were found to be."""
        answer = self._answers.get(("surface", at_home(self._root, str(device))))
        if answer is None or answer.surface is None:
            return [failed("read", "not in the capture")]
        return [
            Finding(DriveState(state), Evidence(probe=probe, finding=what)) for state, probe, what in answer.surface
        ]

    def _read(self, path: str, kind: type[Kind]) -> Kind:
        try:
            return read_input(self._root / path, kind)
        except BadInput as error:
            raise BadInput(str(error).replace(str(self._root), self._shown)) from error

    def _check(self, path: str, digest: str) -> None:
        try:
            content = (self._root / path).read_bytes()
        except OSError as error:
            raise BadInput(f"{self._shown}: {path} is missing: the capture is not whole") from error
        if hashlib.sha256(content).hexdigest() != digest:
            raise BadInput(f"{self._shown}: {path} is not as it was captured (sha256 differs)")


@contextmanager
def _unpacked(file: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="millrace-capture-") as name:
        packed, directory = Path(name) / "capture.tar", Path(name).resolve() / "tree"
        result = command.attempt(["zstd", "--quiet", "--decompress", "-o", str(packed), str(file)])
        if result.status != 0:
            words = (result.err.strip() or "no message").splitlines()[-1].rpartition(": ")[2].strip().rstrip(".")
            raise BadInput(f"{file}: the archive cannot be unpacked and is probably not whole ({words})")
        try:
            with tarfile.open(packed) as archive:
                for member in archive:
                    _unpack(archive, member, directory, file)
        except tarfile.TarError as error:
            raise BadInput(f"{file}: the archive is not whole ({error})") from error
        yield directory


def _unpack(archive: tarfile.TarFile, member: tarfile.TarInfo, directory: Path, file: Path) -> None:
    """A capture comes from somebody else: nothing in it may lead out of the directory."""
    target = directory / member.name
    if not _inside(member.name) or directory not in target.parent.resolve().joinpath("name").parents:
        raise BadInput(f"{file}: {member.name} would be outside of the capture")
    if member.isdir():
        target.mkdir(parents=True, exist_ok=True)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    if member.issym():
        if not _inside(str(PurePosixPath(member.name).parent / member.linkname)) or member.linkname.startswith("/"):
            raise BadInput(f"{file}: the link {member.name} leads out of the capture")
        target.symlink_to(member.linkname)
        return
    content = archive.extractfile(member) if member.isfile() else None
    if content is None:
        raise BadInput(f"{file}: {member.name} is neither file nor directory nor link")
    target.write_bytes(content.read())


def _inside(path: str) -> bool:
    """Whether a path stays below its start, step by step."""
    depth = 0
    for part in PurePosixPath(path).parts:
        depth += -1 if part == ".." else 1
        if depth < 0 or part == "/":
            return False
    return True
