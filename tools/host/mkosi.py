# SPDX-License-Identifier: Apache-2.0
"""mkosi itself: one pinned release, unpacked into the cache, run with its progress on one line."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from host.layout import Caches
from host.progress import Status
from millrace.system.errors import Failed

VERSION = "27.1-1"
DEB = f"pool/main/m/mkosi/mkosi_{VERSION}_all.deb"
SHA256 = "b8cec2f88e217bbfcde6b70605f67ea94069f64c21b1b6a9b88c0e177b23af81"
LOG_TAIL = 30
STEP = re.compile(r"^‣ +(.*)$")
UNKNOWN_SETTING = re.compile(r"unknown setting", re.IGNORECASE)


@dataclass(frozen=True)
class Mkosi:
    """An unpacked release."""

    modules: Path

    def environment(self) -> dict[str, str]:
        """Return the environment mkosi runs in: the caller's, without what would reach the image."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("MKOSI_", "PYTHON"))}
        return kept | {"PYTHONPATH": str(self.modules), "PYTHONDONTWRITEBYTECODE": "1"}


def _download(uri: str, target: Path) -> None:
    url = f"{uri.rstrip('/')}/{DEB}"
    try:
        with urllib.request.urlopen(url, timeout=60) as answer, target.open("wb") as file:
            shutil.copyfileobj(answer, file)
    except (urllib.error.URLError, OSError, ValueError) as error:
        raise Failed(f"mkosi {VERSION} cannot be fetched from {url} ({error}); check the network.") from error


def fetch(caches: Caches, uri: str | None) -> Mkosi:
    """Return the pinned mkosi, downloading it from the Debian archive at `uri` where the cache lacks it.

    Failed: there is no source, it cannot be downloaded, or its checksum is wrong.
    """
    home = caches.mkosi / VERSION
    modules = home / "usr/lib/python3/dist-packages"
    if modules.is_dir():
        return Mkosi(modules)
    if uri is None:
        raise Failed("This host has no Debian package source to fetch mkosi from; set MILLRACE_APT_URI to one.")
    caches.mkosi.mkdir(parents=True, exist_ok=True)
    deb = caches.mkosi / f"{VERSION}.deb"
    _download(uri, deb)
    digest = hashlib.sha256(deb.read_bytes()).hexdigest()
    if digest != SHA256:
        deb.unlink()
        raise Failed(f"The mkosi {VERSION} package has sha256 {digest} instead of {SHA256}; it was not used.")
    unpacked = caches.mkosi / f"{VERSION}.new"
    shutil.rmtree(unpacked, ignore_errors=True)
    subprocess.run(["dpkg-deb", "-x", str(deb), str(unpacked)], check=True)
    unpacked.rename(home)
    return Mkosi(modules)


def run(tool: Mkosi, stage: Path, options: Sequence[str], log: Path, *, zone: str = "UTC") -> float:
    """Build the image configured in `stage`; return the seconds it took.

    The whole output goes to `log`. Failed: mkosi fails, or does not know a setting: it only warns, and the image would
    lack what the setting is for.
    """
    argv = ["/usr/bin/python3", "-m", "mkosi", *options, "--force", "build"]
    status = Status(sys.stdout)
    unknown: list[str] = []
    begin = time.monotonic()
    log.parent.mkdir(parents=True, exist_ok=True)
    with (
        log.open("w") as file,
        subprocess.Popen(
            argv,
            cwd=stage,
            env=tool.environment() | {"TZ": zone},
            # mkosi, depmod and the byte compiler make files of the image with it.
            umask=0o022,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as process,
    ):
        assert process.stdout is not None
        for line in process.stdout:
            file.write(line)
            if UNKNOWN_SETTING.search(line):
                unknown.append(line.strip())
            if step := STEP.match(line):
                status.show(step.group(1))
    status.clear()
    if process.returncode:
        tail = "".join(log.read_text(errors="replace").splitlines(keepends=True)[-LOG_TAIL:])
        print(tail, file=sys.stderr, end="")
        raise Failed(f"mkosi failed; the whole log is in {log}.")
    if unknown:
        raise Failed(f"mkosi does not know a setting, the image would be built without it: {unknown[0]}")
    return time.monotonic() - begin
