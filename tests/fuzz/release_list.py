# SPDX-License-Identifier: Apache-2.0
"""The list of checksums of a release, what its description names, and its news."""

import hashlib

from millrace.lifecycle.update import layout, release
from tests.fuzz import scratch


def check(data: bytes) -> None:
    """Read the input as a list of checksums, and as a description whose checksum is right."""
    text = data.decode(errors="replace")
    layout.parsed_sums(text)
    release.news_of(text, "0.2.0")
    release.number(text)
    with scratch.empty_root() as directory:
        (directory / layout.RELEASE).write_bytes(data)
        found = release.description(directory, {layout.RELEASE: hashlib.sha256(data).hexdigest()})
    release.number(found.version)
