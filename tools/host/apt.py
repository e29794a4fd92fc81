# SPDX-License-Identifier: Apache-2.0
"""The package sources of the image are those of the build host: no mirror is named in this repository."""

import os
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urljoin

SUITE = "forky"
SECURITY = f"{SUITE}-security"
OVERRIDE = "MILLRACE_APT_URI"
SOURCES = Path("mkosi.sandbox/etc/apt/sources.list.d/mkosi.sources")
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
PREFERENCES = Path("mkosi.sandbox/etc/apt/preferences.d/millrace")
FORMAT = "$(ORIGIN)|$(CODENAME)|$(COMPONENT)|$(REPO_URI)"

HELPER = "/usr/lib/apt/apt-helper"

Run = Callable[[list[str]], str]


def _run(argv: list[str]) -> str:
    return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout


def pick(listing: str) -> str | None:
    """Return the base URI of the Debian main archive in `apt-get indextargets` output, or None.

    The security and updates suites are not the archive itself: only a plain codename counts.
    """
    return next((uri for codename, uri in _debian(listing) if "-" not in codename), None)


def _debian(listing: str) -> list[tuple[str, str]]:
    """Return codename and base URI of each Debian source of `main` in the output of `apt-get indextargets`."""
    rows = [fields for line in listing.splitlines() if len(fields := line.split("|")) == len(FORMAT.split("|"))]
    return [(row[1], row[3]) for row in rows if (row[0], row[2]) == ("Debian", "main") and row[1]]


def archive_uri(run: Run = _run) -> str | None:
    """Return the URI of the Debian archive this host uses, or None where it has no Debian source."""
    return os.environ.get(OVERRIDE) or pick(_listing(run))


def _listing(run: Run) -> str:
    ask = ["apt-get", "indextargets", "--format", FORMAT, "Created-By: Packages"]
    listing = run(ask)
    if not listing.strip():
        # Nothing is listed until the package lists were fetched once.
        run(["apt-get", "update"])
        listing = run(ask)
    return listing


def has(url: str) -> bool:
    """Whether there is a file at a URL, as apt reaches it: through its proxies, with its methods."""
    with TemporaryDirectory(prefix="millrace-apt-") as directory:
        file = Path(directory) / "file"
        # the directory is of who calls alone
        ask = [HELPER, "-o", "APT::Sandbox::User=root", "-o", "Acquire::Retries=2", "download-file", url, str(file)]
        try:
            subprocess.run(ask, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        except (OSError, subprocess.CalledProcessError):
            return False
        return file.is_file()


@cache
def security_uri(uri: str | None, run: Run = _run, is_there: Callable[[str], bool] = has) -> str | None:
    """Return the URI of an archive with the security suite of the release; None where this host reaches none.

    Debian makes the suite before the release is stable, so a build does not fail without it. It is beside the archive
    at `uri`, or where this host has its own security updates from.
    """
    if uri is None:
        return None
    beside = urljoin(f"{uri.rstrip('/')}/", "../debian-security/")
    own = [] if os.environ.get(OVERRIDE) else [at for codename, at in _debian(_listing(run)) if "-security" in codename]
    candidates = dict.fromkeys([*own, beside])
    return next((at for at in candidates if is_there(f"{at.rstrip('/')}/dists/{SECURITY}/InRelease")), None)


def sources(uri: str, security: str | None = None) -> str:
    """Return the apt sources of the image and of mkosi's tools tree; `security` is that of security_uri()."""
    suites = [
        (uri, f"{SUITE} {SUITE}-updates", "main non-free-firmware"),
        (uri, "trixie-backports", "main"),  # for the web console alone, see preferences()
        *([(security, SECURITY, "main non-free-firmware")] if security else []),
    ]
    stanzas = [
        [
            "Types: deb",
            f"URIs: {archive}",
            f"Suites: {names}",
            f"Components: {components}",
            f"Signed-By: {KEYRING}",
        ]
        for archive, names, components in suites
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


def files(uri: str | None, security: str | None = None) -> dict[Path, str]:
    """Return the files that configure apt for the archive at `uri`; none without one: mkosi has a source of its own.

    `security` is that of security_uri().
    """
    return {} if uri is None else {SOURCES: sources(uri, security), PREFERENCES: preferences()}
