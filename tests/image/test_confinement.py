# SPDX-License-Identifier: Apache-2.0
"""The profiles are compiled for all that the kernel of the image can ask of what they mediate."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from host.layout import REPO
from tests.image.conftest import ZSTD
from vm import pe

FEATURES = REPO / "mkosi.extra/usr/lib/millrace/apparmor/features"
LEAST = 16 << 20
"""Bytes of a kernel: the four bytes of a frame also stand in code."""
# The masks of what the profiles mediate, by the words that each begins with: security/apparmor/apparmorfs.c.
MASKS = {
    "caps": b"chown dac_override ",
    "file": b"create read write exec ",
    "mount": b"mount umount ",
}


def unpacked(linux: bytes) -> bytes:
    """Return the kernel in a bzImage."""
    at = linux.find(ZSTD)
    while at != -1:
        done = subprocess.run(["zstd", "-dcq"], input=linux[at:], capture_output=True, check=False)
        if len(done.stdout) > LEAST:
            return done.stdout
        at = linux.find(ZSTD, at + 4)
    raise AssertionError("the kernel of the image is not packed with zstd any more")


def offered(kernel: bytes, first: bytes) -> Iterator[str]:
    """Yield the masks that begin with these words, as the kernel shows them in securityfs."""
    return (match[1].decode() for match in re.finditer(rb"\0(" + first + rb"[a-z_ ]+)\0", kernel))


@pytest.fixture(scope="module")
def kernel(uki: Path) -> bytes:
    return unpacked(pe.section(uki, ".linux"))


@pytest.mark.parametrize("group", sorted(MASKS))
def test_profiles_know_each_permission_that_the_kernel_of_the_image_asks_for(kernel: bytes, group: str) -> None:
    match = re.search(rf"^{group} \{{mask \{{([a-z_ ]+)$", FEATURES.read_text(), re.MULTILINE)
    assert match is not None
    # what the copy lacks, a policy that is compiled for it does not limit, or refuses whatever its rules say
    [mask] = set(offered(kernel, MASKS[group]))
    assert set(mask.split()) == set(match[1].split())
