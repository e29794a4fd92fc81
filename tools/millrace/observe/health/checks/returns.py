# SPDX-License-Identifier: Apache-2.0
"""Does a member or an array come and go, is a member back but not in its array, and are returns counted?"""

from datetime import UTC, datetime

from millrace.observe.health.host import Host
from millrace.observe.health.model import HealthFinding, Level
from millrace.storage.assemble import failures, readd, revival_limit
from millrace.storage.assemble.readd import MOST, Return
from millrace.storage.assemble.revival import REVIVE
from millrace.system.names import several

NAME = "returns"


def check(host: Host) -> list[HealthFinding]:
    """Return a finding for each drive whose last return within a day left it out of an array or was not recorded."""
    now = datetime.now(UTC)
    latest = {(one.serial, one.array): one for one in readd.recent(now)}
    out = [_out(host, one) for one in latest.values() if one.outcome != "re-added"]
    return [*out, *_unrecorded(host, readd.unrecorded(now)), *_revived(host, now), *_unidentified(host)]


def _unidentified(host: Host) -> list[HealthFinding]:
    """Members that are whole drives without a serial number."""
    return [
        HealthFinding(
            check=NAME,
            kind="unidentified",
            subject=record.array.name,
            level=Level.WARN,
            sentence=f"{several(names)} of array {record.array.name} cannot be identified: if drives fail together, "
            "it is not known which failed last, and the array is not started by itself.",
            todo="Connect the drive so that its serial number can be read: millrace inventory",
        )
        for record in (host.pool.arrays if host.pool else ())
        if not record.array.over_arrays and (names := failures.unidentified(record.uuid))
    ]


def _revived(host: Host, now: datetime) -> list[HealthFinding]:
    """Arrays that were started again so often that they are not any more, until a day has passed."""
    known = revival_limit.recent(now.isoformat())
    spent = [
        record
        for record in (host.pool.arrays if known and host.pool else ())
        if revival_limit.times(record, known) >= revival_limit.MOST
    ]
    return [
        HealthFinding(
            check=NAME,
            kind="revived",
            subject=record.array.name,
            level=Level.FAIL,
            sentence=f"Array {record.array.name} ({record.array.level.upper()}) broke and was started again by itself "
            f"{revival_limit.MOST} times in 24 hours, and is not started by itself any more.",
            todo=f"Check its drives, cables and backplane. If it does not run: {REVIVE}",
        )
        for record in spent
    ]


def _unrecorded(host: Host, returns: list[Return]) -> list[HealthFinding]:
    """Until a later return is recorded, or a day has passed."""
    if not returns:
        return []
    last = returns[-1]
    sentence = (
        f"The return of {host.place(last.serial)} to array {last.array} could not be recorded on the boot drive: "
        f"after a restart a drive that comes and goes is re-added {MOST} more times."
    )
    todo = "Free space on the boot drive: du -xh --max-depth=3 / | sort -h | tail; journalctl --vacuum-size=200M"
    return [HealthFinding(check=NAME, kind="unrecorded", level=Level.WARN, sentence=sentence, todo=todo)]


def _out(host: Host, returned: Return) -> HealthFinding:
    place = host.place(returned.serial)
    why = (
        f"has returned to array {returned.array} more than {MOST} times in 24 hours and is left out"
        if returned.outcome == "left-out"
        else f"has returned to array {returned.array} and could not be re-added"
    )
    return HealthFinding(
        check=NAME,
        kind=returned.array,
        subject=returned.serial,
        level=Level.WARN,
        sentence=f"{place[0].upper()}{place[1:]} {why}.",
        todo=host.replace(returned.serial),
    )
