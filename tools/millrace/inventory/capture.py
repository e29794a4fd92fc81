# SPDX-License-Identifier: Apache-2.0
"""A server in a file: everything that its inventory is made of, so that another machine can inspect it.

A capture is a tar archive compressed with zstd. Below its root it has the files of sysfs and procfs at their paths,
`commands/NNN.json` with the output of tools and of the probe of each drive's first and last bytes, and `capture.json`,
which lists all.
"""

import hashlib
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from millrace import __version__
from millrace.inventory.anonymise import Anonymiser
from millrace.inventory.capture_files import entries
from millrace.inventory.capture_tools import reduce
from millrace.inventory.collect import collect
from millrace.inventory.model import DriveState, Evidence, Inventory
from millrace.inventory.probe import run_tool
from millrace.inventory.probe_result import ProbeFinding, SurfaceReader
from millrace.inventory.surface import surface
from millrace.system import sysfs
from millrace.system.archive import ArchiveEntry, new_archive, write_archive
from millrace.system.documents import Contract
from millrace.system.run import Result, Runner

MANIFEST = "capture.json"
COMMANDS = "commands"


class CaptureManifest(Contract):
    """`files`: sha256 of every file by its path."""

    schema_version: Literal[1] = 1
    made_by: str
    files: dict[str, str]


class Answer(Contract):
    """The output of a tool, or (`surface`) the findings in a drive's first and last bytes."""

    argv: list[str]
    status: int = 0
    out: str = ""
    err: str = ""
    surface: list[tuple[DriveState, str, str]] | None = None


class CaptureRecorder:
    """Runs tools and probes of a server and records their results, with the server's own names of device nodes."""

    def __init__(self, sysroot: Path, run: Runner, read: SurfaceReader) -> None:
        self._sysroot, self._run, self._read = sysroot, run, read
        self.tools: list[tuple[list[str], Result]] = []
        self.surfaces: list[tuple[str, list[ProbeFinding]]] = []

    def run(self, argv: Sequence[str], stdin: str | None = None) -> Result:
        """Run a tool and record its output."""
        result = self._run(argv)
        self.tools.append(([server_path(self._sysroot, word) for word in argv], result))
        return result

    def read(self, device: Path, size: int) -> list[ProbeFinding]:
        """Probe the first and last bytes of a drive of `size` bytes and record the findings."""
        found = self._read(device, size)
        self.surfaces.append((server_path(self._sysroot, str(device)), found))
        return found


def server_path(sysroot: Path, word: str) -> str:
    """Return `SYSROOT/dev/nvme0n1` as /dev/nvme0n1."""
    prefix = str(sysroot).rstrip("/")
    return word.removeprefix(prefix) if prefix and word.startswith(f"{prefix}/") else word


def capture(
    file: Path,
    keep_serials: bool = False,
    sysroot: Path = Path("/"),
    run: Runner = run_tool,
    read: SurfaceReader = surface,
) -> Inventory:
    """Write a capture of this server to `file` and return the inventory that it was made from.

    Refused, Failed: the file cannot be created; this is checked before any drive is probed.
    """
    with new_archive(file) as packed:
        inventory, content = _collected(keep_serials, sysroot, CaptureRecorder(sysroot, run, read))
        write_archive(content, packed, file)
    return inventory


def _collected(
    keep_serials: bool, sysroot: Path, recorder: CaptureRecorder
) -> tuple[Inventory, dict[str, ArchiveEntry]]:
    """The inventory, and the contents of a capture of it by their paths."""
    inventory = collect(sysroot, recorder.run, recorder.read)
    names = Anonymiser(key(sysroot), sysfs.text(sysroot / "proc/sys/kernel/hostname") or "", keep_serials)
    # Before any text: these words must be known when the texts are gone through.
    for drive in inventory.drives:
        names.serial(drive.serial)
        names.identifier(drive.wwid)
    content = {entry.path: entry for entry in [*entries(sysroot, names), *_tool_entries(recorder, names)]}
    files = {path: _sha256(entry.content) for path, entry in sorted(content.items()) if entry.content is not None}
    manifest = CaptureManifest(made_by=f"millrace {__version__}", files=files)
    content[MANIFEST] = ArchiveEntry(MANIFEST, manifest.model_dump_json(indent=2).encode() + b"\n")
    return inventory, content


def _tool_entries(recorder: CaptureRecorder, names: Anonymiser) -> list[ArchiveEntry]:
    tools = [(argv, reduce(argv, result, names)) for argv, result in recorder.tools]
    answers = [
        *(
            Answer(argv=[*map(names.name, argv)], status=said.status, out=said.out, err=said.err)
            for argv, said in tools
        ),
        *(
            Answer(argv=["surface", device], surface=[_triple(finding.state, finding.evidence) for finding in findings])
            for device, findings in recorder.surfaces
        ),
    ]
    answers.sort(key=lambda answer: answer.argv)
    return [
        ArchiveEntry(f"{COMMANDS}/{number:03}.json", answer.model_dump_json(indent=2).encode() + b"\n")
        for number, answer in enumerate(answers)
    ]


def _triple(state: DriveState, evidence: Evidence) -> tuple[DriveState, str, str]:
    return (state, evidence.probe, evidence.finding)


def key(sysroot: Path) -> bytes:
    """Return the key of pseudonyms: the machine ID never leaves the server; without one no two captures are alike."""
    return (sysfs.text(sysroot / "etc/machine-id") or secrets.token_hex(16)).encode()


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
