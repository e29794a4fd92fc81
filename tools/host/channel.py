# SPDX-License-Identifier: Apache-2.0
"""`tools/channel`: the directory of a web server with all releases, and which of them each channel offers.

A channel is a link to a release: plain files for any web server, and one rename puts another release in its place.
"""

import argparse
import os
import shutil
from pathlib import Path

from host.entry import finish
from host.lock import held
from millrace.lifecycle.update import layout
from millrace.lifecycle.update.model import Release
from millrace.lifecycle.update.release import description, matches, number
from millrace.system.errors import BadInput, Refused
from millrace.system.files import sync

CHANNELS = ("stable", "testing")
RELEASES = "releases"
LOCK, COPYING, SWITCHING = ".lock", ".copying", ".switching"


def checked(directory: Path) -> Release:
    """Return the release in a directory once each of its files has the checksum that is listed.

    The signature is verified by servers, which have the public key. BadInput: a file is missing or damaged.
    """
    missing = [name for name in (layout.SUMS, layout.SIGNATURE) if not (directory / name).is_file()]
    if missing:
        raise BadInput(f"{directory} has no {missing[0]}; name a directory that tools/build --release wrote.")
    sums = layout.parsed_sums((directory / layout.SUMS).read_text())
    if sums is None:
        raise BadInput(f"{directory / layout.SUMS} is no list of checksums; make the release again.")
    for name in (layout.RELEASE, *sums):
        if not (directory / name).is_file():
            raise BadInput(f"{directory} has no {name}; make the release again.")
    release = description(directory, sums)
    for file in release.files:
        matches(directory / file.name, sums, file.size)
    for name in sums:
        matches(directory / name, sums)
    return release


def offered(web: Path, channel: str) -> str | None:
    """Return the version that a channel offers, None for none.

    Its release is not verified: a newer one replaces it also where it is damaged or was deleted.
    """
    place = web / channel
    return place.readlink().name if place.is_symlink() else None


def add(web: Path, directory: Path) -> str:
    """Copy a release to the others, unless it is there, and return its version. BadInput: as `checked`."""
    release = checked(directory)
    place = web / RELEASES / release.version
    if place.exists():
        if (place / layout.SUMS).read_bytes() != (directory / layout.SUMS).read_bytes():
            raise BadInput(f"{place} is another release with the same version; make yours from a later commit.")
        return release.version
    new = web / RELEASES / COPYING
    shutil.rmtree(new, ignore_errors=True)
    shutil.copytree(directory, new)
    checked(new)
    new.rename(place)
    sync(place.parent)
    return release.version


def offer(web: Path, channel: str, version: str) -> Release:
    """Let a channel offer a release that is there, in one step; return it.

    BadInput: there is no such release, or it is damaged. Refused: the channel offers a newer one, and servers refuse
    older releases.
    """
    place = web / RELEASES / version
    if number(version) == () or not place.is_dir():
        raise BadInput(f"{web / RELEASES} has no release {version}; name a directory of tools/build --release.")
    release, now = checked(place), offered(web, channel)
    if now is not None and number(now) > number(release.version):
        raise Refused(f"{channel} offers {now}, and servers refuse the older {version}; make a newer release.")
    new = web / SWITCHING
    new.unlink(missing_ok=True)
    new.symlink_to(Path(RELEASES) / version)
    new.rename(web / channel)
    sync(web)
    return release


def main(arguments: list[str]) -> int:
    """Put a release into a channel. BadInput and Refused as `add` and `offer`."""
    parser = argparse.ArgumentParser(prog="tools/channel", description="Offer a release to servers that update.")
    parser.add_argument("web", type=Path, metavar="WEB", help="directory that the web server serves")
    parser.add_argument("channel", choices=CHANNELS)
    parser.add_argument("release", metavar="RELEASE", help="directory of tools/build --release, or a version in WEB")
    chosen = parser.parse_args(arguments)
    web: Path = chosen.web
    (web / RELEASES).mkdir(parents=True, exist_ok=True)
    with held(web / LOCK, f"{web} is being changed; waiting for it."):
        named = Path(chosen.release)
        version = add(web, named) if os.sep in chosen.release or named.is_dir() else chosen.release
        release = offer(web, chosen.channel, version)
    size = sum(file.size for file in release.files)
    print(f"{chosen.channel} offers {version} ({size / 1e9:.1f} GB).")
    return 0


if __name__ == "__main__":
    finish(main)
