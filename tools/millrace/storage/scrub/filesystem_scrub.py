# SPDX-License-Identifier: Apache-2.0
"""xfs_scrub reads all metadata of the mounted file system and reports what is damaged; it changes nothing."""

from collections.abc import Callable
from datetime import datetime

from millrace.storage.record.model import Pool
from millrace.storage.record.scrub_record import FilesystemScrub, ScrubRecord, change, stamp
from millrace.system.errors import Refused
from millrace.system.mounts import mounted
from millrace.system.run import Result, Runner, last_words

# xfs_scrub(8), EXIT CODE: bits. 2 is what could be laid out better, which is no damage.
DAMAGE, INCOMPLETE = 1, 4 | 8


def check(pool: Pool, run: Runner, now: Callable[[], datetime]) -> ScrubRecord:
    """Check the file system of the pool and keep the result. Refused: it is not mounted."""
    mountpoint = pool.filesystem.mountpoint
    if mounted(mountpoint) is None:
        raise Refused(f"{mountpoint} is not mounted; see `systemctl status srv-pool.mount`")
    began = now()
    # one thread: clients come first
    result = run(["xfs_scrub", "-b", "-n", mountpoint])
    ended = now()
    scrub = FilesystemScrub(
        started=stamp(began), ended=stamp(ended), seconds=(ended - began).total_seconds(), problem=_problem(result)
    )
    return change(lambda old: old.model_copy(update={"filesystem": scrub}))


def _problem(result: Result) -> str | None:
    words = last_words(result)
    if result.status & DAMAGE and result.status <= (DAMAGE | INCOMPLETE | 2):
        return f"metadata is damaged: {words}"
    if result.status & INCOMPLETE or result.status > (DAMAGE | INCOMPLETE | 2):
        return f"the check did not reach its end: {words}"
    return None
