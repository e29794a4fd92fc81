# SPDX-License-Identifier: Apache-2.0
"""`tools/build --cves`: what Debian's security tracker knows of the package versions in the image (debsecan(1))."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from millrace.system.errors import Failed

SUITE = "forky"


def report(status: Path, options: Sequence[str] = ()) -> str:
    """Return the open vulnerabilities of the packages in the database `status`, one a line. Failed: nothing is known.

    `options` go to debsecan; it downloads the tracker's data (some MB) at every call.
    """
    argv = ["debsecan", f"--suite={SUITE}", f"--status={status}", "--format=summary", *options]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = [line.removeprefix("error: ").rstrip(":") for line in done.stderr.splitlines() if line]
        raise Failed(
            "The vulnerabilities of this image are not known, as Debian's security tracker was not read: "
            f"{'; '.join(lines) or 'debsecan gave no reason'}"
        )
    return done.stdout
