# SPDX-License-Identifier: Apache-2.0
"""Kept states whose manifest and files are parts of an input; sizes and checksums, which no fuzzer finds, are right."""

import hashlib
from pathlib import Path

from millrace.lifecycle.keep.generation import MANIFEST, Generation, pack, unpack
from millrace.lifecycle.keep.model import Manifest
from millrace.system.documents import parse_model
from tests.fuzz.parts import split


def state(data: bytes) -> Generation:
    """Return the state in an input: its manifest, then the content of each of its members."""
    text, *contents = split(data)
    manifest = parse_model(text, Path(MANIFEST), Manifest)
    members = manifest.members[: len(contents)]
    stored = {member.path: content for member, content in zip(members, contents, strict=False)}
    right = [
        member.model_copy(
            update={"size": len(stored[member.path]), "sha256": hashlib.sha256(stored[member.path]).hexdigest()}
        )
        for member in members
    ]
    return unpack(pack(manifest.model_copy(update={"members": right}), stored))
