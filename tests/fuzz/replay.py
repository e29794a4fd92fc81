# SPDX-License-Identifier: Apache-2.0
"""The content of a capture: files of another server's sysfs and procfs, and the output of its tools."""

import hashlib
import json
import os

from host.captures.replay import Replay
from tests.fuzz import scratch
from tests.fuzz.parts import split

LONGEST = 64
"""Files in one input."""


def check(data: bytes) -> None:
    """Make a capture of the files in the input and take its inventory.

    Parts of the input: in turn a path and its content; a content that begins with "->" is a link.
    """
    with scratch.empty_root() as root:
        files = {}
        parts = split(data)[: 2 * LONGEST]
        for path, content in zip(parts[::2], parts[1::2], strict=False):
            name = path.decode(errors="replace")
            place = root / name.lstrip("/")
            if "\0" in name or ".." in place.parts:
                files[name] = ""
                continue
            try:
                place.parent.mkdir(parents=True, exist_ok=True)
                if content.startswith(b"->"):
                    place.symlink_to(os.fsdecode(content[2:]))
                    continue
                place.write_bytes(content)
            except (OSError, ValueError):
                continue
            files[name] = hashlib.sha256(content).hexdigest()
        if "capture.json" not in files:
            manifest = {"schema_version": 1, "made_by": "fuzz", "files": files}
            (root / "capture.json").write_text(json.dumps(manifest))
        Replay(root).collect()
