# SPDX-License-Identifier: Apache-2.0
"""What is in the image, as a bill of materials in CycloneDX: debsbom reads it off the image's package database."""

import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import NAMESPACE_OID, uuid5

from millrace.system.errors import Failed

SUFFIX = ".cdx.json"


def write(status: Path, name: str, version: str, epoch: int) -> Path:
    """Write `<name>.cdx.json` beside the package database `status` and return it.

    The same database gives the same bytes: time is `epoch` (seconds, the image's SourceDateEpoch), the serial number
    follows from the content. Failed with debsbom's reason.
    """
    serial = uuid5(NAMESPACE_OID, f"{name} {status.read_text()}")
    with TemporaryDirectory(prefix="millrace-sbom-") as directory:
        root = Path(directory) / "root"
        (root / "var/lib/dpkg").mkdir(parents=True)
        shutil.copyfile(status, root / "var/lib/dpkg/status")
        made = Path(directory) / "made"
        argv = [
            *(sys.executable, "-m", "debsbom.cli", "generate", "--root", str(root), "--out", str(made)),
            *("--sbom-type", "cdx", "--distro-arch", "amd64", "--distro-name", "Millrace"),
            *("--distro-version", version, "--cdx-serialnumber", str(serial)),
            *("--timestamp", datetime.fromtimestamp(epoch, UTC).isoformat()),
        ]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        bill = made.with_name(made.name + SUFFIX)
        if done.returncode != 0 or not bill.is_file():
            reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise Failed(f"The bill of materials was not made: {reason}")
        target = status.with_name(name + SUFFIX)
        shutil.copyfile(bill, target)
    return target
