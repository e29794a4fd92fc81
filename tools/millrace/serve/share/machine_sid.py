# SPDX-License-Identifier: Apache-2.0
"""The SID of the machine, by which the NT ACLs of a pool's files name local users: it belongs to the pool.

Samba keeps a SID for each name that the server has had (secrets.tdb, SECRETS/SID/NAME) and makes a random one for a new
name. With another SID local users are others, and files of type home (acl_xattr) are closed to their owners. So Samba's
name follows from the pool, its SID is recorded, and it is set again before smbd starts.
"""

import re
import socket
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

from pydantic import StringConstraints

from millrace.serve.config.model import Domain
from millrace.storage.record.model import Pool
from millrace.system import paths
from millrace.system.documents import Contract, read_model, write_model
from millrace.system.errors import Failed
from millrace.system.run import Runner, must

SECRETS = "var/lib/samba/private/secrets.tdb"
NETBIOS_LENGTH = 15

# struct dom_sid as secrets.c stores it: revision, count, authority, 15 numbers, of which four count here.
_STORED = struct.Struct("<BB6s15I")
_AUTHORITY = b"\0\0\0\0\0\5"
_DUMPED = re.compile(r"\\([0-9A-Fa-f]{2})|(.)", re.DOTALL)

Sid = Annotated[str, StringConstraints(pattern=r"^S-1-5-21-\d{1,10}-\d{1,10}-\d{1,10}$")]


class MachineSid(Contract):
    """The SID of the machine for one file system, whose files name local users by it."""

    schema_version: Literal[1] = 1
    filesystem_uuid: str
    sid: Sid


def file() -> Path:
    """The record; kept on the pool."""
    return paths.state_dir() / "machine-sid.json"


def server_name(pool: Pool) -> str:
    """Return the name that Samba has without a domain: that of the pool, whatever the host name."""
    return f"POOL-{pool.filesystem_uuid[:8].upper()}"


def samba_name(pool: Pool, domain: Domain | None) -> str:
    """Return the name under which Samba looks for the SID of the machine."""
    return domain.machine.upper() if domain else server_name(pool)


def recorded(pool: Pool) -> str | None:
    """Return the SID of this pool; None where none was recorded. BadInput: the record cannot be read."""
    if not file().exists():
        return None
    record = read_model(file(), MachineSid)
    # a boot drive that served another pool before
    return record.sid if record.filesystem_uuid == pool.filesystem_uuid else None


def held(name: str, run: Runner) -> str | None:
    """Return the SID that Samba keeps under a name; None where it has none."""
    result = run(["tdbdump", "-k", f"SECRETS/SID/{name}", str(paths.ROOT / SECRETS)])
    data = b"".join(bytes([int(code, 16)]) if code else char.encode() for code, char in _DUMPED.findall(result.out))
    if result.status != 0 or len(data) < _STORED.size:
        return None
    revision, count, authority, first, *numbers = _STORED.unpack(data[: _STORED.size])
    if (revision, count, authority, first) != (1, 4, _AUTHORITY, 21):
        return None
    return "S-1-5-21-" + "-".join(str(number) for number in numbers[:3])


def settle(pool: Pool, domain: Domain | None, of_files: Callable[[], str | None], run: Runner) -> bool:
    """Give Samba the SID of the pool, and record it where none was; return whether Samba had another one, or none
    where there was one before.

    `of_files` returns the SID by which files of the pool name their owners, None where they name none; it is called
    once in the life of a pool. smb.conf is that of the pool and `domain` already. Failed: Samba has no SID, or does not
    take it.
    """
    name = samba_name(pool, domain)
    present, known = held(name, run), recorded(pool)
    wanted = known or of_files() or present or held(_earlier_name(), run)
    if wanted is None:
        # it makes one where there is none
        must(run, ["net", "getlocalsid"])
        wanted = present = held(name, run)
        if wanted is None:
            raise Failed(f"Samba has no SID for {name}: net getlocalsid")
    if present != wanted:
        must(run, ["net", "setlocalsid", wanted])
        # which SID a UID has is kept for a week: users would stay who they were with the other one
        must(run, ["net", "cache", "flush"])
    if known is None:
        write_model(file(), MachineSid(filesystem_uuid=pool.filesystem_uuid, sid=wanted))
    return present != wanted


def _earlier_name() -> str:
    """The name that Samba takes from the host name where smb.conf has none."""
    return socket.gethostname().partition(".")[0].upper()[:NETBIOS_LENGTH]
