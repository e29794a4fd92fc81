# SPDX-License-Identifier: Apache-2.0
"""The emulated machine: the image's own kernel, initrd and /usr, on one CPU whose clock counts instructions.

`-icount shift=0,sleep=off`: an instruction takes one nanosecond, and time in which the CPU waits is skipped.
What another process of the host does changes how long a run takes, not what it measures. Boots differ all the same, by
up to 1.3 % of a rate: when the drive of /usr answers is the host's time, and what comes after depends on it. `-seed`
takes away what QEMU itself draws by lot, no more.
"""

import hashlib
import json
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from host import artefacts, qemu, stage
from host.layout import OUTPUT, REPO, caches
from host.perf.benchmarks import BENCHMARKS
from host.perf.guest.job import JOB, Job
from millrace.system.errors import BadInput, Failed
from vm import bare, pe

SEED = 1
# What QEMU takes besides, for translated code most of all.
OWN_MIB = 1024
# Of a processor: a machine that hangs burns it. How long that takes on a busy host is another matter.
SECONDS = 1800
PACKAGES = ("host", "host/perf", "host/perf/guest")
MODULE = "host.perf.guest"
OPTIONS = (*bare.COUNTED, "-seed", str(SEED))


@dataclass(frozen=True)
class Image:
    """A built image, as far as it is needed here, and the QEMU that runs it.

    `system` is a digest of what a guest runs: kernel, initrd, packages and their settings, without `millrace` itself.
    """

    efi: Path
    usr: Path
    system: str
    qemu: str


def built(output: Path = OUTPUT) -> Image:
    """Return the image that tools/build made; BadInput where there is none."""
    name = artefacts.image_name(REPO)
    if missing := artefacts.missing(output, name):
        raise BadInput(f"There is no image to measure, {output / missing[0]} is missing; run tools/build first.")
    efi, usr, manifest = (output / f"{name}{suffix}" for suffix in (".efi", ".usr-x86-64.raw", ".manifest"))
    parts = [pe.section(efi, section) for section in (".linux", ".initrd")] + [manifest.read_bytes()]
    system = stage.key(REPO, stage.system_inputs(REPO), *(hashlib.sha256(part).hexdigest() for part in parts))
    return Image(efi, usr, system, qemu.command(caches()))


def files(job: Job) -> dict[str, bytes]:
    """Return the files of a guest by their path: its program and the job."""
    root = REPO / "tools"
    sources = [path for package in PACKAGES for path in (root / package).glob("*.py")]
    wanted = [path for path in sources if path.parent.name == "guest" or path.name == "__init__.py"]
    found = {str(path.relative_to(root)): path.read_bytes() for path in wanted}
    return found | BENCHMARKS[job.benchmark].files() | {JOB: json.dumps(asdict(job), sort_keys=True).encode()}


def command(
    program: str, kernel: Path, initrd: Path, usr: Path, console: Path, results: Path, memory: int
) -> list[str]:
    """Return the command line of the QEMU `program` with `memory` in MiB, one CPU: emulated ones only take turns."""
    return bare.command(program, kernel, initrd, usr, console, results, memory, MODULE, *OPTIONS)


def key(image: Image, job: Job) -> str:
    """Return a digest of everything that a result depends on."""
    version = subprocess.run([image.qemu, "--version"], capture_output=True, text=True, check=True).stdout
    kernel, initrd, usr, console, results = (Path(name) for name in ("kernel", "initrd", "usr", "console", "results"))
    machine = command("qemu", kernel, initrd, usr, console, results, BENCHMARKS[job.benchmark].memory)
    digest = hashlib.sha256(json.dumps([image.system, version, machine]).encode())
    digest.update(bare.overlay(files(job)))
    return digest.hexdigest()


def run(image: Image, job: Job, seconds: int = SECONDS) -> list[dict[str, Any]]:
    """Boot the image with a job and return the guest's records; Failed where the job did not end well.

    `seconds` of CPU time at most.
    """
    parts = bare.Parts(image.efi, image.usr, image.qemu)
    left = bare.run(parts, files(job), BENCHMARKS[job.benchmark].memory, seconds, MODULE, OPTIONS)
    return records(left.results, f"{job.benchmark}: {left.ended}", left.console)


def records(said: str, what: str, console: str) -> list[dict[str, Any]]:
    """Return the records of a complete job; Failed with the guest's words for one that is not."""
    documents: list[dict[str, Any]] = []
    for line in said.splitlines():
        try:
            documents.append(json.loads(line))
        except ValueError:
            # cut off in the middle
            break
    for record in documents:
        if "refused" in record:
            raise Failed(record["refused"])
        if "failed" in record:
            raise Failed(f"{what}, the guest said: {record['failed'].strip()}")
    if not documents or "done" not in documents[-1]:
        raise Failed(f"{what} and left no whole result. The console's last lines:\n{console}")
    return documents[:-1]
