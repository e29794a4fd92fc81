# SPDX-License-Identifier: Apache-2.0
"""The inventory of a capture, made in the same way as that of this server."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from host.captures.unpack import confine, unpacked
from millrace.inventory.capture import COMMANDS, MANIFEST, Answer, CaptureManifest, server_path
from millrace.inventory.collect import collect
from millrace.inventory.model import Evidence, Inventory
from millrace.inventory.probe_result import ProbeFinding, failed
from millrace.system.documents import read_input
from millrace.system.errors import BadInput
from millrace.system.run import Result

NOT_CAPTURED = 127
Kind = TypeVar("Kind", CaptureManifest, Answer)


def inventory_of(place: Path) -> Inventory:
    """Return the inventory of a capture: an archive, or the directory that it was unpacked into.

    BadInput: there is none, or it is hostile, incomplete or changed. Failed: zstd is not installed.
    """
    if place.is_dir():
        return Replay(place).collect()
    if not place.exists():
        raise BadInput(f"{place} is missing")
    with unpacked(place) as directory:
        return Replay(directory, shown_as=str(place)).collect()


class Replay:
    """Files and tools of a captured server. A tool that was not captured counts as not installed: it proves nothing.

    BadInput: `directory` is not a capture, or is incomplete or changed. `shown_as` stands for it in errors.
    """

    def __init__(self, directory: Path, shown_as: str | None = None) -> None:
        self._root, self._shown = directory.resolve(), shown_as or str(directory)
        if not (self._root / MANIFEST).is_file():
            raise BadInput(f"{self._shown}/{MANIFEST} is missing")
        confine(self._root, self._shown)
        manifest = self._read(MANIFEST, CaptureManifest)
        for path, digest in manifest.files.items():
            self._check(path, digest)
        answers = [self._read(path, Answer) for path in manifest.files if path.startswith(f"{COMMANDS}/")]
        self._answers = {tuple(answer.argv): answer for answer in answers}

    def collect(self) -> Inventory:
        """Return the inventory of the captured server."""
        return collect(self._root, self.run, self.read)

    def run(self, argv: Sequence[str], stdin: str | None = None) -> Result:
        """Return the captured output of a tool."""
        answer = self._answers.get(tuple(server_path(self._root, word) for word in argv))
        if answer is None or answer.surface is not None:
            return Result(NOT_CAPTURED, "", "not in the capture")
        return Result(answer.status, answer.out, answer.err)

    def read(self, device: Path, size: int) -> list[ProbeFinding]:
        """Return the captured findings in the first and last bytes of a drive of `size` bytes."""
        answer = self._answers.get(("surface", server_path(self._root, str(device))))
        if answer is None or answer.surface is None:
            return [failed("read", "not in the capture")]
        return [ProbeFinding(state, Evidence(probe=probe, finding=what)) for state, probe, what in answer.surface]

    def _read(self, path: str, kind: type[Kind]) -> Kind:
        try:
            return read_input(self._root / path, kind)
        except BadInput as error:
            raise BadInput(str(error).replace(str(self._root), self._shown)) from error

    def _check(self, path: str, digest: str) -> None:
        if "\0" in path:
            raise BadInput(f"{self._shown}: {MANIFEST} names a file that no server has")
        if not (self._root / path).resolve().is_relative_to(self._root):
            raise BadInput(f"{self._shown}: {MANIFEST} names {path[:100]}, which is outside of the capture")
        try:
            content = (self._root / path).read_bytes()
        except OSError as error:
            raise BadInput(f"{self._shown}: {path} is missing: the capture is incomplete") from error
        if hashlib.sha256(content).hexdigest() != digest:
            raise BadInput(f"{self._shown}: {path} is not as it was captured (sha256 differs)")
