# SPDX-License-Identifier: Apache-2.0
"""Is a member kept apart that ran without its array or may be newer, or did all run apart, so that nothing starts?"""

from millrace.observe.health.host import REPLACE, Host
from millrace.observe.health.model import HealthFinding, Level
from millrace.storage.array.live_arrays import MISSING, live_arrays, member_states
from millrace.storage.record import apart_record
from millrace.storage.record.apart_record import Apart, in_words
from millrace.system.command import command

NAME = "apart"

KEEP = "Copy what is needed from it in another server"


def check(host: Host) -> list[HealthFinding]:
    """Return a finding for each member that is kept apart, and one for each array whose members ran twice."""
    kept, undecided = apart_record.recorded(), apart_record.undecided()
    if host.pool is None or not (kept or undecided):
        return []
    arrays = live_arrays(host.pool, {})
    live = member_states(arrays)
    in_use = {member.serial for array in arrays for member in array.members if member.state not in (MISSING, "faulty")}
    present = {drive.serial for drive in host.drives}
    out = [
        member for member in kept.values() if member.serial in present and live.get(member.serial, MISSING) == MISSING
    ]
    findings = [_apart(host, member, member.serial in in_use) for member in out]
    return [*findings, *(_undecided(name, why) for name, why in undecided.items())]


def _apart(host: Host, member: Apart, in_use: bool) -> HealthFinding:
    place = host.place(member.serial)
    lacks = "the array may lack its last changes" if member.started else "each has changes that the other lacks"
    sentence = f"{place[0].upper()}{place[1:]} {in_words(member)}; it is kept apart, because {lacks}."
    first = "Keep it until the files are compared with a backup" if member.started else KEEP
    todo = (
        f"{first}. To use it here again as a blank drive, see --foreign in millrace drive erase --help, then: "
        f"{command(REPLACE, member.serial)}"
    )
    if in_use:
        # a member of another array, and no drive to erase
        todo = host.replace(member.serial)
    return HealthFinding(
        check=NAME, kind=member.array, subject=member.serial, level=Level.WARN, sentence=sentence, todo=todo
    )


def _undecided(name: str, why: str) -> HealthFinding:
    sentence, _, todo = why.partition(". ")
    return HealthFinding(
        check=NAME, kind="undecided", subject=name, level=Level.FAIL, sentence=f"{sentence}.", todo=todo
    )
