# SPDX-License-Identifier: Apache-2.0
"""Are all arrays there, whole, and what is md doing with them?"""

from pathlib import Path

from millrace.health.host import Host
from millrace.health.model import Finding, Level
from millrace.provision.model import ArrayRecord
from millrace.tune.devices import array_device, block

NAME = "arrays"

_DEAD = {"clear", "inactive", "broken"}
_REDUNDANCY = {"raid5": 1, "raid6": 2}
_DOING = {"resync": "first synchronisation", "recover": "rebuild", "check": "check", "repair": "repair",
          "reshape": "reshape"}  # fmt: skip


def check(host: Host) -> list[Finding]:
    """One finding per array of the pool."""
    return [_array(host, record) for record in host.pool.arrays] if host.pool else []


def _array(host: Host, record: ArrayRecord) -> Finding:
    name, device = record.array.name, array_device(record.array.name)
    if device is None:
        return host.absent(
            NAME,
            f"Array {name} is missing.",
            "Check that its drives are seated (millrace inventory), then: journalctl -u millrace-assemble",
        )
    md = block(device) / "md"
    state = _read(md, "array_state")
    if state in _DEAD:
        return Finding(
            check=NAME,
            level=Level.FAIL,
            sentence=f"Array {name} is {state}: too many of its drives are gone.",
            todo="Put the drives back in, do not write to them, then: systemctl restart millrace-assemble",
        )
    if state == "readonly":
        return Finding(
            check=NAME, level=Level.FAIL, sentence=f"Array {name} is read-only.", todo="journalctl -k | grep md"
        )
    # raid0 has no redundancy to lose: the kernel has no such files for it.
    if record.array.level == "raid0":
        return Finding(check=NAME, level=Level.OK, sentence=f"Array {name} ({record.array.level}) is {state}.")
    return _redundant(record, md)


def _redundant(record: ArrayRecord, md: Path) -> Finding:
    array = record.array
    missing = int(_read(md, "degraded"))
    progress = _progress(md)
    if missing == 0:
        return Finding(check=NAME, level=Level.OK, sentence=f"Array {array.name} ({array.level}) is whole{progress}.")
    spare = _REDUNDANCY.get(array.level, len(array.members) - 1) - missing
    left = "one more may fail" if spare == 1 else f"{spare} more may fail" if spare > 1 else "the next loss loses data"
    return Finding(
        check=NAME,
        level=Level.WARN if spare > 0 else Level.FAIL,
        sentence=f"Array {array.name} ({array.level}) misses {missing} of {len(array.members)} drives, "
        f"{left}{progress}.",
        todo=None
        if "rebuild" in progress
        else "Replace the drive that is gone; millrace inventory lists those that are there.",
    )


def _progress(md: Path) -> str:
    """`; rebuild at 12 %`, or nothing where md is idle."""
    action = _read(md, "sync_action")
    if action in ("idle", "frozen"):
        return ""
    doing = _DOING.get(action, action)
    done, _, total = _read(md, "sync_completed").partition(" / ")
    # "delayed" and "none": another array on the same drives goes first.
    if not (done.isdigit() and total.isdigit() and int(total)):
        return f"; {doing} is waiting"
    return f"; {doing} at {100 * int(done) // int(total)} %"


def _read(md: Path, attribute: str) -> str:
    return (md / attribute).read_text().strip()
