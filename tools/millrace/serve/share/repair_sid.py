# SPDX-License-Identifier: Apache-2.0
"""`millrace share repair-sid`: set back the SID of this server, and replace former ones in the ACLs of its files."""

from collections.abc import Callable

from millrace.serve.config import store
from millrace.serve.share import file_sids, machine_sid, sid_record
from millrace.serve.share.model import SidReport
from millrace.serve.share.server import ShareServer, this_server
from millrace.serve.share.services import SMB, restart_smbd
from millrace.system.errors import Failed
from millrace.system.units import is_active
from millrace.system.users import only_root


def repair(
    server: Callable[[], ShareServer] = this_server, tick: Callable[[file_sids.SidCount], None] = lambda counted: None
) -> SidReport:
    """Give Samba the SID of the pool, and put it into the NT ACLs that name a local user by a former SID.

    `tick` is called at least every second with what was done. Failed: Samba does not take the SID, or an ACL cannot be
    read or written; the rest can be done again.
    """
    only_root()
    with store.config_lock():
        host = server()
        config = store.load()
        shares = host.shares(config)
        some = file_sids.homes(shares)
        set_back = machine_sid.settle(host.pool, config.domain, lambda: file_sids.of_files(some, host.run), host.run)
    sid = machine_sid.recorded(host.pool)
    if sid is None:
        raise Failed(f"{machine_sid.file()} cannot be written")
    counted = file_sids.SidCount()
    if some:
        known = file_sids.rids(some, host.run)
        file_sids.count(some, sid, known, counted, replace=True, tick=lambda: tick(counted))
    # what health said is over
    sid_record.sample(shares, host.pool, host.run)
    # sessions know the old SID for as long as they last
    restarted = set_back and is_active(SMB, host.run)
    if restarted:
        restart_smbd(host.run)
    return SidReport(
        sid=sid,
        set_back=set_back,
        restarted=restarted,
        right=counted.right,
        replaced=dict(counted.others),
        held=counted.held,
    )
