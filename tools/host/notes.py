# SPDX-License-Identifier: Apache-2.0
"""The notes of a build: what is new, what it is made of, and by what it is known."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from debian.deb822 import Deb822

from host.modules import package
from millrace.system.errors import BadInput

SUFFIX = ".notes.md"
# The version of the kernel's package has the kernel's; nfs-utils is the source of nfs-kernel-server.
COMPONENTS = {
    "Linux": r"linux-image-\d.*",
    "rebuilt modules of NFS, SMB and md": package.NAME,
    "systemd": "systemd",
    "mdadm": "mdadm",
    "xfsprogs": "xfsprogs",
    "nfs-utils": "nfs-kernel-server",
    "Samba": "samba",
    "rdma-core": "rdma-core",
    "Cockpit": "cockpit-bridge",
    "OpenSSL": "libssl3t64",
}


def news(text: str, version: str) -> str:
    """Return the section of a version in NEWS.md, without its heading. BadInput: there is none.

    The section of 0.1.0 is that of its releases, 0.1.0.20261124.1456.
    """
    sections = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    for section in sections:
        heading, _, body = section.partition("\n")
        own = heading.split()[:1]
        if own == [version] or (own and version.startswith(f"{own[0]}.")):
            return body.strip()
    raise BadInput(f"NEWS.md has no section for {version}: write one before the build.")


def write(status: Path, name: str, version: str, epoch: int, root_hash: str, news_file: Path) -> Path:
    """Write `<name>.notes.md` beside the package database `status` and return it; `epoch` in seconds.

    The same tree and packages give the same bytes. BadInput: NEWS.md has no section for this version.
    """
    with status.open() as opened:
        versions = {
            paragraph["Package"]: paragraph["Version"]
            for paragraph in Deb822.iter_paragraphs(opened, use_apt_pkg=False)
        }
    rows = [
        f"| {component} | {versions[package]} |"
        for component, pattern in COMPONENTS.items()
        for package in sorted(versions)
        if re.fullmatch(pattern, package)
    ]
    day = datetime.fromtimestamp(epoch, UTC).date().isoformat()
    lines = [
        f"# Millrace {version}",
        "",
        f"{day}, {_origins(versions)}, all in `{name}.cdx.json`.",
        f"Root hash of `/usr`: `{root_hash}`",
        "",
        *("## News", "", news(news_file.read_text(), version), ""),
        *("## Components", "", "| component | version |", "|---|---|", *rows),
    ]
    target = status.with_name(name + SUFFIX)
    target.write_text("\n".join(lines) + "\n")
    return target


def _origins(versions: Mapping[str, str]) -> str:
    if package.NAME not in versions:
        return f"{len(versions)} packages of Debian"
    return f"{len(versions) - 1} packages of Debian and {package.NAME}"
