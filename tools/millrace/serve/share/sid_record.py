# SPDX-License-Identifier: Apache-2.0
"""The SIDs by which files of homes name local users: sampled where shares are served, published in /run for health.

Health itself reads no file of the pool: one that does not respond would keep it from saying so.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

from millrace.serve.share import file_sids
from millrace.serve.share.model import Share
from millrace.storage.record.model import Pool
from millrace.system import paths
from millrace.system.documents import Contract, read_model, write_model
from millrace.system.errors import MillraceError
from millrace.system.run import Runner


class FileSids(Contract):
    """The machine SIDs by which files name local users, by share of type home, in the file system with this UUID."""

    schema_version: Literal[1] = 1
    filesystem_uuid: str
    shares: dict[str, list[str]]


def sample(shares: Sequence[Share], pool: Pool, run: Runner) -> None:
    """Read some files of these shares and publish the SIDs that they name; other shares keep what was read before.

    Failed: pdbedit does not list the users. OSError: files cannot be read.
    """
    new = {
        share.name: file_sids.named(file_sids.homes([share]), run)
        for share in shares
        if share.type == "home" and share.smb is not None
    }
    if new:
        every = {**recorded(pool), **new}
        write_model(paths.file_sids_file(), FileSids(filesystem_uuid=pool.filesystem_uuid, shares=every))


def recorded(pool: Pool) -> Mapping[str, list[str]]:
    """Return the SIDs by share as they were sampled last in this boot; none of another pool."""
    try:
        record = read_model(paths.file_sids_file(), FileSids)
    except MillraceError:
        return {}
    return record.shares if record.filesystem_uuid == pool.filesystem_uuid else {}
