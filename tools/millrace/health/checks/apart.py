# SPDX-License-Identifier: Apache-2.0
"""Did a member run without its array, so that it is kept apart, or did all of them, so that nothing is started?"""

from shlex import quote

from millrace.health.host import REPLACE, Host
from millrace.health.model import Finding, Level
from millrace.pool.arrays import MISSING, live_arrays, member_states
from millrace.provision import apart
from millrace.provision.apart import Apart, last_written

NAME = "apart"


def check(host: Host) -> list[Finding]:
    """Return a finding for each member that is kept apart, and one for each array whose members ran twice."""
    kept, undecided = apart.recorded(), apart.undecided()
    if host.pool is None or not (kept or undecided):
        return []
    arrays = live_arrays(host.pool, {})
    live = member_states(arrays)
    in_use = {member.serial for array in arrays for member in array.members if member.state not in (MISSING, "faulty")}
    present = {one.serial for one in host.drives}
    out = [one for one in kept.values() if one.serial in present and live.get(one.serial, MISSING) == MISSING]
    found = [_apart(host, one, one.serial in in_use) for one in out]
    return [*found, *(_undecided(name, why) for name, why in undecided.items())]


def _apart(host: Host, one: Apart, in_use: bool) -> Finding:
    place = host.place(one.serial)
    sentence = (
        f"{place[0].upper()}{place[1:]} ran without array {one.array} after it left it{last_written(one)}; it is kept "
        "apart, because each has changes that the other lacks."
    )
    todo = (
        "Copy what is needed from it in another server. To use it here again as a blank drive, see --foreign in "
        f"millrace drive erase --help, then: {REPLACE} {quote(one.serial)}"
    )
    if in_use:
        # a member of another array, and no drive to erase
        todo = host.replace(one.serial)
    return Finding(check=NAME, kind=one.array, subject=one.serial, level=Level.WARN, sentence=sentence, todo=todo)


def _undecided(name: str, why: str) -> Finding:
    sentence, _, todo = why.partition(". ")
    return Finding(check=NAME, kind="undecided", subject=name, level=Level.FAIL, sentence=f"{sentence}.", todo=todo)
