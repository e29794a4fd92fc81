# SPDX-License-Identifier: Apache-2.0
"""Record in which order members of arrays fail: `python3 -m millrace.provision.failures`.

Members that left one after another are not equal: what the first one holds is older, and the superblocks do not always
say which that is, as a second drive may be gone before the failure of the first one is written. The kernel logs each
failure where md marks the member as faulty, with a line about what is left (raid5.c, raid5_error); none is left out,
as those lines are not rate-limited, and the log keeps them in their order. Events of mdadm --monitor and /proc/mdstat
show a state, in which failures of one second are not ordered.

The kernel stamps messages by a clock of its own, which nothing corrects: after days it is seconds away from the time of
the superblocks. So what is logged while this runs is dated as it is read.

millrace-failures.service runs this as long as the server runs. A record that cannot be written, as the boot drive is
full, makes the order unknown and stops nothing. It imports next to nothing, because it stays in memory.
"""

import json
import os
import re
import select
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import NamedTuple

from millrace import paths
from millrace.system import sysfs
from millrace.system.files import append_line

KEPT = 256
"""Failures that are kept, the latest last."""

TOLERANCE = 10.0
"""Seconds by which a record and the superblocks of the same failure may differ."""

LOOK = 60
"""Seconds after which the members are looked at again, also where the kernel says nothing: an array may be new."""

_FAILED = re.compile(r"md/raid(?:10?)?:(md\d+): Disk failure on (\S+), disabling device\.")
_LEFT = re.compile(r"md/raid(?:10?)?:(md\d+): Operation continuing on (\d+) devices\.")
_BROKEN = re.compile(r"md/raid:(md\d+): Cannot continue operation \((\d+)/(\d+) failed\)\.")
_NEWS = re.compile(r"md/raid\w*:|md\d+: detected capacity change")
"""How messages begin that an array started, or what happened to a member.

md has others by the hundred each second while the last drive of a mirror is gone: a look after each of them would take
so long that the kernel overwrites the next failure before it is read.
"""
_NEXT_LINE = "\\x0a"
"""What /dev/kmsg has for a line feed: raid1.c and raid10.c log both lines in one message."""
_LATEST = 1 << 33
"""Seconds since 1970 that no clock of a server has, nor its superblocks."""
_FACILITY = 3
"""Bits of the level below the facility, which is 0 for the kernel."""
_MESSAGE = 8192
"""Bytes of the largest message (kernel, PRINTK_MESSAGE_MAX)."""


class Message(NamedTuple):
    """One message of the kernel: its number in this boot, when it was logged in seconds since the boot, its text.

    `read` is when it was read, in seconds since 1970, None where it was logged before this began to read.
    """

    number: int
    seconds: float
    text: str
    read: float | None = None


class Failure(NamedTuple):
    """One member that failed. `array` is the UUID, `member` the GUID of the partition, else the serial of the drive.

    `left` is how many members were in sync after it; None where several failed at the same moment, and their order is
    not known. `broken`: those were too few. `at` is in seconds since 1970, `number` that of the message in its boot.
    """

    boot: str
    number: int
    at: float
    array: str
    member: str
    left: int | None
    broken: bool


class Started(NamedTuple):
    """An array that Millrace started after it broke; a line of the same record. `started` in seconds since 1970."""

    array: str
    started: float


class Recorder:
    """Follows the kernel's messages; knows the members of all arrays, as nothing says who a drive was that is gone."""

    def __init__(self, boot: str, recorded: Iterable[Failure] = ()) -> None:
        self._boot = boot
        self._last = max((one.number for one in recorded if one.boot == boot), default=-1)
        self._members: dict[tuple[str, str], tuple[str, str]] = {}
        self._open: dict[str, list[tuple[Message, str]]] = defaultdict(list)

    def see(self, message: Message) -> list[Failure]:
        """Return the failures that are complete with this message."""
        if not _NEWS.match(message.text):
            return []
        self.look()
        lines = [line for line in message.text.split(_NEXT_LINE) if line]
        # Other messages have text that a device, a client or a program chose, line feeds among it.
        if not all(any(one.fullmatch(line) for one in (_FAILED, _LEFT, _BROKEN)) for line in lines):
            return []
        return [one for line in lines for one in self._line(message, line)]

    def _line(self, message: Message, line: str) -> Iterator[Failure]:
        left, broken = _LEFT.fullmatch(line), _BROKEN.fullmatch(line)
        if failed := _FAILED.fullmatch(line):
            self._open[failed[1]].append((message, failed[2]))
        elif left:
            yield from self._complete(left[1], int(left[2]), False)
        elif broken:
            yield from self._complete(broken[1], int(broken[3]) - int(broken[2]), True)

    def _complete(self, array: str, left: int, broken: bool) -> Iterator[Failure]:
        found = self._open.pop(array, [])
        for message, name in found:
            uuid, member = self._members.get((array, name), ("", ""))
            # read again after a restart of this
            if uuid and member and message.number > self._last:
                at = message.read or time.time() - time.monotonic() + message.seconds
                alone = left if len(found) == 1 else None
                yield Failure(self._boot, message.number, at, uuid, member, alone, broken)

    def look(self) -> None:
        """Take down who the members are. A drive that is gone keeps what it was."""
        for array, uuid, name in _members():
            if member := _identity(name):
                self._members[array, name] = (uuid, member)


def unidentified(array: str) -> list[str]:
    """Return the kernel names of the members of a running array, by its UUID, whose failures cannot be recorded."""
    found = [name for _, uuid, name in _members() if _digits(uuid) == _digits(array) and not _identity(name)]
    return [name for name in found if (paths.ROOT / "sys/class/block" / name).exists()]


def _members() -> Iterator[tuple[str, str, str]]:
    """Yield kernel name and UUID of each array with the kernel name of a member."""
    for array in sysfs.names(paths.ROOT / "sys/block"):
        md = paths.ROOT / "sys/block" / array / "md"
        uuid = sysfs.text(md / "uuid") if array.startswith("md") else None
        for entry in sysfs.names(md) if uuid else []:
            if uuid and entry.startswith("dev-"):
                yield array, uuid, entry.removeprefix("dev-")


def load() -> list[Failure]:
    """Return the failures that are recorded, the latest last; a line that cannot be parsed is left out."""
    return [one for one in map(_parsed, _lines()) if one is not None]


def broke(array: str) -> float | None:
    """Return when an array broke, in seconds since 1970; None where Millrace has started it since, or it never did."""
    for line in reversed(_lines()):
        if (started := _started(line)) is not None and _digits(started.array) == _digits(array):
            return None
        failure = _parsed(line)
        if failure is not None and failure.broken and _digits(failure.array) == _digits(array):
            return failure.at
    return None


def note_start(array: str) -> None:
    """Record that Millrace started an array, where it broke before. OSError: the boot drive takes no record."""
    if broke(array) is not None:
        append_line(paths.failures_file(), json.dumps(Started(array, time.time())._asdict()))


def since_start(array: str) -> list[Failure]:
    """Return the failures of an array since Millrace started it, as far as that is recorded; the latest last."""
    found = list[Failure]()
    for line in _lines():
        if (started := _started(line)) is not None and _digits(started.array) == _digits(array):
            found.clear()
        elif (failure := _parsed(line)) is not None and _digits(failure.array) == _digits(array):
            found.append(failure)
    return found


def last_of(array: str, needed: int, recorded: Iterable[Failure]) -> list[Failure]:
    """Return who failed when an array broke for the last time, and after that; nothing where the order is not known.

    `recorded` has no failure from before the last start of the array.
    """
    known = _members_in_sync([one for one in recorded if _digits(one.array) == _digits(array)])
    begin = max((at for at, one in enumerate(known) if one.broken and one.left == needed - 1), default=len(known))
    found = known[begin:]
    expected = [needed - 1 - at for at in range(len(found))]
    same = len({one.boot for one in found}) == 1 and all(one.broken for one in found)
    return found if same and [one.left for one in found] == expected else []


def _members_in_sync(known: Sequence[Failure]) -> list[Failure]:
    """Leave out hot spares and members that were being filled: their failure leaves as many in sync as before."""
    pairs = zip([None, *known], known, strict=False)
    return [
        one
        for before, one in pairs
        if before is None or one.left is None or (before.boot, before.left) != (one.boot, one.left)
    ]


def parsed(line: str) -> Message | None:
    """Return a message as /dev/kmsg has it (Documentation/ABI/testing/dev-kmsg); None where it is not the kernel's."""
    head, _, rest = line.partition(";")
    fields = head.split(",")
    if len(fields) < 3 or not all(field.isdigit() for field in fields[:3]):
        return None
    if int(fields[0]) >> _FACILITY:
        # a program wrote it to /dev/kmsg
        return None
    return Message(int(fields[1]), int(fields[2]) / 1e6, rest.partition("\n")[0])


def messages(log: int) -> Iterator[Message | None]:
    """Yield the messages of the kernel, from the oldest that it has, until its end; None after LOOK without one."""
    log_has = select.poll()
    log_has.register(log, select.POLLIN)
    is_live = False
    for _ in count():
        is_live = is_live or not log_has.poll(0)
        if not log_has.poll(LOOK * 1000):
            yield None
            continue
        try:
            line = os.read(log, _MESSAGE)
        except BrokenPipeError:
            continue  # messages were overwritten before they were read
        if not line:
            return
        if message := parsed(line.decode(errors="replace")):
            yield message._replace(read=time.time()) if is_live else message


def main(log: int) -> None:
    """Follow the kernel and record each failure; one that cannot be recorded is logged."""
    _shorten()
    recorder = Recorder(sysfs.text(paths.ROOT / "proc/sys/kernel/random/boot_id") or "", load())
    recorder.look()
    looked = time.monotonic()
    for message in messages(log):
        if time.monotonic() - looked >= LOOK:
            recorder.look()
            looked = time.monotonic()
        for failure in recorder.see(message) if message else []:
            try:
                append_line(paths.failures_file(), json.dumps(failure._asdict()))
            except OSError as error:
                print(f"the failure of {failure.member} cannot be recorded: {error}", flush=True)


def _shorten() -> None:
    """Drop the oldest failures; a file that cannot be written stays as it is."""
    try:
        lines = paths.failures_file().read_text(errors="replace").splitlines()
    except OSError:
        return
    if len(lines) > KEPT:
        from millrace.system.files import write_text

        try:
            write_text(paths.failures_file(), "".join(f"{line}\n" for line in lines[-KEPT:]))
        except OSError as error:
            print(f"the record of failures cannot be shortened: {error}", flush=True)


def _lines() -> list[str]:
    try:
        return paths.failures_file().read_text(errors="replace").splitlines()[-KEPT:]
    except OSError:
        return []


def _started(line: str) -> Started | None:
    try:
        one = Started(**json.loads(line))
    except (ValueError, TypeError):
        return None
    return one if isinstance(one.array, str) else None


def _parsed(line: str) -> Failure | None:
    try:
        one = Failure(**json.loads(line))
    except (ValueError, TypeError):
        return None
    if not (isinstance(one.at, int | float) and 0 < one.at < _LATEST):
        return None
    kinds = (one.boot, str), (one.number, int), (one.at, (int, float)), (one.array, str), (one.member, str)
    return one if all(isinstance(value, kind) for value, kind in kinds) else None


def _identity(name: str) -> str:
    """The GUID of a partition, else the serial of a drive, as `System.identity` has them; else empty."""
    directory = (paths.ROOT / "sys/class/block" / name).resolve()
    is_partition = (directory / "partition").exists()
    if guid := sysfs.uevent(directory).get("PARTUUID", "").lower():
        return guid
    # hardly a server has such members, and this takes memory
    from millrace.inventory.drives import identify

    return identify(directory.parent if is_partition else directory).serial


def _digits(uuid: str) -> str:
    return uuid.replace(":", "").replace("-", "").lower()


if __name__ == "__main__":
    main(os.open("/dev/kmsg", os.O_RDONLY | os.O_CLOEXEC))
