# SPDX-License-Identifier: Apache-2.0
"""Boot a guest with a job, and read its records."""

import json
from collections.abc import Sequence
from typing import Any

from host.layout import REPO
from host.perf import emulator
from host.perf.emulator import Image
from vm import bare

SOURCES = ("tests/kernel/guest", "tools/host/perf/guest")
PACKAGES = ("tests", "tests/kernel", "tools/host", "tools/host/perf")
PROGRAM = ("serve", "system")
"""The wings of the program that a guest has as the tree has them."""
MEMORY = 2048


def files(job: dict[str, Any]) -> dict[str, bytes]:
    """Return the files of a guest by their path: its program, that of the drives, and the job."""
    found = {"job.json": json.dumps(job).encode()}
    wanted = [path for name in SOURCES for path in (REPO / name).glob("*.py")]
    wanted += [REPO / name / "__init__.py" for name in PACKAGES]
    # in the places of those that the image has
    wanted += [path for path in (REPO / "tools/millrace").rglob("*.py") if path.relative_to(REPO).parts[2] in PROGRAM]
    for path in wanted:
        found[str(path.relative_to(REPO)).removeprefix("tools/")] = path.read_bytes() if path.exists() else b""
    return found


def records(
    image: Image, job: dict[str, Any], seconds: int = 1800, options: Sequence[str] = bare.COUNTED
) -> list[dict[str, Any]]:
    """Return what a job found. Failed: it did not end, or it says what went wrong."""
    parts = bare.Parts(image.efi, image.usr, image.qemu)
    left = bare.run(parts, files(job), MEMORY, seconds, "tests.kernel.guest", options)
    return emulator.records(left.results, f"{', '.join(job['work'])}: {left.ended}", left.console)
