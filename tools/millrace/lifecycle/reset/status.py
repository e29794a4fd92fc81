# SPDX-License-Identifier: Apache-2.0
"""What a factory reset would remove and leave. Nothing is written."""

from millrace.lifecycle.keep import seal
from millrace.lifecycle.reset import obstacles, reset
from millrace.lifecycle.reset.model import ResetStatus
from millrace.serve.config import reset_journal, store
from millrace.serve.share.session import sessions
from millrace.storage.record.pool_file import known_pool
from millrace.system import paths
from millrace.system.errors import MillraceError
from millrace.system.run import Runner

CREDENTIALS = ("boot/loader/credentials/*.cred", "boot/EFI/Linux/*.efi.extra.d/*.cred")


def status(run: Runner) -> ResetStatus:
    """Return what a reset would remove and leave. BadInput: a record of a reset cannot be read."""
    pool, config = known_pool(), store.load()
    return ResetStatus(
        host=reset.host_name(),
        pool=pool.filesystem_uuid if pool else None,
        shares=[share.name for share in config.shares] if pool else [],
        users=[user.name for user in config.users],
        domain=config.domain.zone if config.domain else None,
        clients=sessions(run).sessions if pool else [],
        sealed=pool is not None and _sealed(),
        credentials=sorted(path.name for where in CREDENTIALS for path in paths.ROOT.glob(where)),
        obstacle=obstacles.of_server(run),
        under_way=reset_journal.under_way(),
        failed=reset.last_failure(),
        last=reset.last(),
    )


def _sealed() -> bool:
    try:
        return seal.current() is not None
    except MillraceError:
        return True
