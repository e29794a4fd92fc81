# SPDX-License-Identifier: Apache-2.0
"""The package sources of the image are those of the build host: no mirror is named in this repository."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

OVERRIDE = "MILLRACE_APT_URI"
SOURCES = Path("mkosi.sandbox/etc/apt/sources.list.d/mkosi.sources")
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
PREFERENCES = Path("mkosi.sandbox/etc/apt/preferences.d/millrace")
FORMAT = "$(ORIGIN)|$(CODENAME)|$(COMPONENT)|$(REPO_URI)"

Run = Callable[[list[str]], str]


def _run(argv: list[str]) -> str:
    return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout


def pick(listing: str) -> str | None:
    """Return the base URI of the Debian main archive in `apt-get indextargets` output, or None.

    The security and updates suites are not the archive itself: only a plain codename counts.
    """
    for line in listing.splitlines():
        fields = line.split("|")
        if len(fields) != len(FORMAT.split("|")):
            continue
        origin, codename, component, uri = fields
        if origin == "Debian" and component == "main" and codename and "-" not in codename:
            return uri
    return None


def archive_uri(run: Run = _run) -> str | None:
    """Return the URI of the Debian archive this host uses, or None where it has no Debian source."""
    if override := os.environ.get(OVERRIDE):
        return override
    ask = ["apt-get", "indextargets", "--format", FORMAT, "Created-By: Packages"]
    listing = run(ask)
    if not listing.strip():
        # Nothing is listed until the package lists were fetched once.
        run(["apt-get", "update"])
        listing = run(ask)
    return pick(listing)


def sources(uri: str) -> str:
    """Return the apt sources of the image and of mkosi's tools tree."""
    suites = (
        ("forky forky-updates", "main non-free-firmware"),
        ("trixie-backports", "main"),  # for the web console alone, see preferences()
    )
    stanzas = [
        [
            "Types: deb",
            f"URIs: {uri}",
            f"Suites: {names}",
            f"Components: {components}",
            f"Signed-By: {KEYRING}",
        ]
        for names, components in suites
    ]
    return "\n\n".join("\n".join(lines) for lines in stanzas) + "\n"


def preferences() -> str:
    """Return which packages come from backports.

    forky's Cockpit 370 lacks the fixes of CVE-2026-91150 and CVE-2026-91151. At forky's own priority the newer version
    wins, so the day forky has a newer one, that is taken. Everything else of backports stays below forky.
    """
    pins = (("*", -1), ("cockpit cockpit-*", 500))
    return "\n".join(
        f"Package: {names}\nPin: release n=trixie-backports\nPin-Priority: {priority}\n" for names, priority in pins
    )


def files(uri: str | None) -> dict[Path, str]:
    """Return the files that configure apt for the archive at `uri`; none without one: mkosi has a source of its own."""
    return {} if uri is None else {SOURCES: sources(uri), PREFERENCES: preferences()}
