# SPDX-License-Identifier: Apache-2.0
"""A release whose kernel panics: after three starts of it the version before serves. It costs a story short boots.

tests/vm/lives has the version that starts and does not serve, which takes three whole boots.
"""

import base64
import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from host import keys, stage
from host import release as releases
from host.layout import REPO
from millrace.lifecycle.update import layout as names
from tests.vm.box import Box
from tests.vm.lives.release import KEYS, LISTED, NEW, OLD, TOOLS, served
from vm import pe
from vm.machine import Machine

TRIES = 3
NO_ROOT = "Unable to mount root fs"
UPDATES = "/var/lib/millrace/update"
# It is copied to the server: a source of updates is asked for each file by a unit of its own.
ARCHIVE = "/var/tmp/release.tar"
COPY = "import sys, urllib.request; urllib.request.urlretrieve(*sys.argv[1:])"
# What is in its slots nobody reads: the kernel has no initrd that would.
SLOT = 1 << 20


@dataclass(frozen=True)
class Unstartable:
    """The archive of a release, and the public key for its signature in base64."""

    archive: Path
    public: str


def made(image: Path, work: Path) -> Unstartable:
    """Make the release of the kernel of an image, without its initrd."""
    output, name, roothash = work / "output", f"{names.IMAGE}_{NEW}_x86-64", os.urandom(32).hex()
    output.mkdir()
    (output / f"{name}.roothash").write_text(roothash)
    for suffix in releases.SUFFIXES.values():
        (output / f"{name}{suffix}").write_bytes(os.urandom(SLOT))
    kernel = pe.cut(image.with_suffix(".efi").read_bytes(), ".initrd")
    # as many bytes as there were, so that each section stays where it is
    for old, new in ((f'IMAGE_VERSION="{OLD}"', f'IMAGE_VERSION="{NEW}"'), ("panic=30", "panic=1 ")):
        assert old.encode() in kernel
        kernel = kernel.replace(old.encode(), new.encode())
    (output / f"{name}.efi").write_bytes(kernel)
    owner = keys.make(work / "keys", datetime.now(UTC))
    news = work / "NEWS.md"
    news.write_text(f"## {NEW}\n\n- It does not start.\n")
    archive = releases.write(output, owner, TOOLS, NEW, news, work / "www", stage.epoch(REPO))
    return Unstartable(archive, base64.b64encode((owner.directory / keys.UPDATE_PUBLIC).read_bytes()).decode())


def install(box: Box, release: Unstartable, *options: str) -> None:
    """Install it beside the running version; the next boot tries it."""
    box.machine.run(f"base64 -d > {KEYS}", stdin=release.public)
    with served(release.archive.parent) as url:
        box.machine.run(["python3", "-c", COPY, f"{url}{release.archive.name}", ARCHIVE], seconds=300)
    assert "was installed" in box.millrace(["update", "apply", ARCHIVE, "--yes", *options], seconds=900).out
    box.say(f"rm {ARCHIVE}")
    assert box.say(LISTED).split() == [f"millrace_{OLD}.efi", f"millrace_{NEW}+{TRIES}-0.efi"]


def see_three_tries(machine: Machine) -> None:
    """See each start of it end in a panic, and switch the server on again; it was switched on once already.

    The boot loader counts a try before the kernel runs: one that the emulator broke is a try, too.
    """
    ended = 0
    for _ in range(TRIES):
        if machine.boot_ended(300):
            assert NO_ROOT in machine.console
            ended += 1
        machine.start()
    assert ended > 0


def see_version_before(box: Box) -> None:
    """See that the version before serves and says what failed. Later stories find nothing of it."""
    try:
        see_failed(box)
    finally:
        box.say(f"rm -f {KEYS} {UPDATES}/last.json {UPDATES}/failed.json")


def see_failed(box: Box) -> None:
    """See that the version before serves and says what failed."""
    box.wait_serving()
    # the end of its boot
    box.machine.wait_command(f"! test -e {UPDATES}/before.json", "what became of the version", 600)
    assert box.say(". /usr/lib/os-release; echo $IMAGE_VERSION") == OLD
    assert box.say(LISTED).split() == [f"millrace_{OLD}.efi", f"millrace_{NEW}+0-{TRIES}.efi"]
    status = box.shown("update status --json")
    assert (status["last"]["version"], status["last"]["state"], status["trial"]) == (NEW, "failed", None)
    assert status["last"]["problems"] == ["It did not come up far enough to say why."]
    assert [failure["version"] for failure in status["failed"]] == [NEW]
    assert f"version {NEW} failed" in box.machine.console
