# SPDX-License-Identifier: Apache-2.0
"""The kept state that a factory reset relies on: written again, read back and found fit for an adoption."""

from collections.abc import Callable

from millrace.lifecycle.adopt import restore, search
from millrace.lifecycle.keep import generation_store, keeping
from millrace.lifecycle.keep.generation_store import Newest
from millrace.storage.record.model import Pool
from millrace.system.errors import MillraceError, Refused
from millrace.system.run import Runner

NOT_RESET = "nothing was reset"


def keep_now(pool: Pool, run: Runner, pause: Callable[[float], None] | None = None) -> Newest:
    """Keep the state of now and read it back; return it.

    Refused: the pool does not take it, it is not complete, or this release could not adopt it.
    """
    status = keeping.keep(run, pause, again=True)
    if status.problem:
        raise Refused(f"the state of this server cannot be kept on the pool: {status.problem}; {NOT_RESET}")
    if status.unread:
        raise Refused(f"a part of the state cannot be kept on the pool: {status.unread[0]}; {NOT_RESET}")
    try:
        newest = generation_store.newest(generation_store.directory(keeping.mounted_pool(pool)))
        if (
            newest is None
            or newest.number != status.generation
            or newest.generation.manifest.pool != pool.filesystem_uuid
        ):
            raise Refused("the newest kept state is not the one that was written")
        restore.verify(newest.generation.manifest, newest.generation.readable())
        search.pool_of(newest)
        search.config_of(newest)
    except MillraceError as error:
        raise Refused(f"the kept state on the pool cannot be adopted afterwards: {error}; {NOT_RESET}") from error
    return newest
