# SPDX-License-Identifier: Apache-2.0
"""Kept states as they are on a pool."""

import hashlib
from collections.abc import Mapping

from millrace.lifecycle.keep.generation import Generation, pack
from millrace.lifecycle.keep.model import Manifest, ManifestMember
from millrace.serve.config.model import User, first_config
from millrace.storage.record.model import Pool
from tests.fakes.samples import pool

SHADOW = b"admin:$y$admin:20000:::::\nanna:$y$anna:20000:::::\nmallory:$y$x:1:::::\n"
POOL, CONFIG = "var/lib/millrace/pool.json", "var/lib/millrace/config.json"


def kept(of: Pool | None = None, **replaced: bytes) -> dict[str, bytes]:
    """The files of a server with a user; `replaced` are others by the last part of their paths, `_` for the point."""
    config = first_config().model_copy(update={"serial": 7, "users": [User(name="anna", uid=3000)]})
    files = {
        CONFIG: config.model_dump_json().encode(),
        POOL: (of or pool()).model_dump_json().encode(),
        "var/lib/millrace/nfs-handles.key": b"key",
        "var/lib/samba/private/secrets.tdb.dump": b"SID",
        "etc/hostname": b"filer\n",
        "accounts/shadow": SHADOW,
        "accounts/quotas.json": b'{"/srv/pool/data": "1 1G"}',
    }
    named = {path.rpartition("/")[2].replace(".", "_"): path for path in files}
    return files | {named[name]: data for name, data in replaced.items()}


def manifest(contents: Mapping[str, bytes], **more: object) -> Manifest:
    """The manifest of a generation with these files."""
    members = [
        ManifestMember(
            path=path,
            mode=0o600 if "key" in path else 0o644,
            secret=False,
            size=len(data),
            sha256=hashlib.sha256(data).hexdigest(),
        )
        for path, data in contents.items()
    ]
    about = {
        "generation": 3,
        "written": "2026-11-23T10:00:00+00:00",
        "release": "0.1.0",
        "host": "filer",
        "pool": pool().filesystem_uuid,
        "pool_generation": 1,
        "seal": None,
        "decided": "",
        "records": "",
        "members": members,
    }
    return Manifest.model_validate({**about, **more})


def generation(contents: Mapping[str, bytes], **more: object) -> Generation:
    """A generation with these files."""
    return Generation(manifest(contents, **more), dict(contents))


def packed(contents: Mapping[str, bytes], **more: object) -> bytes:
    """The file of a generation."""
    found = generation(contents, **more)
    return pack(found.manifest, found.stored)
