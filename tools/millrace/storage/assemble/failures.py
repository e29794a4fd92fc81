# SPDX-License-Identifier: Apache-2.0
"""Record in which order members of arrays fail: `python3 -m millrace.storage.assemble.failures`.

Members that left one after another are not equal: what the first one holds is older, and the superblocks do not always
say which that is, as a second drive may be gone before the failure of the first one is written. The kernel logs each
failure where md marks the member as faulty, with a line about what is left (raid5.c, raid5_error); none is left out,
as those lines are not rate-limited, and the log keeps them in their order. Events of mdadm --monitor and /proc/mdstat
show a state, in which failures of one second are not ordered.

Messages that were logged while this did not run have kernel names of that time, and another drive may have one of them
since. A name counts where udev has known its device since before the message; else the failure has no member.

The kernel stamps messages by a clock of its own, which nothing corrects: after days it is seconds away from the time of
the superblocks. So what is logged while this runs is dated as it is read, less what this is behind: on a busy server
that was a minute.

millrace-failures.service runs this as long as the server runs. A record that cannot be written, as the boot drive is
full, makes the order unknown and stops nothing. It imports next to nothing, because it stays in memory.
"""

import math
import os
import re
import select
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from typing import NamedTuple

from millrace.storage.record.failure_record import Failure, add, digits, load, shorten
from millrace.system import paths, sysfs
from millrace.system.errors import MillraceError

LOOK = 60
"""Seconds after which the members are looked at again, also where the kernel says nothing: an array may be new."""

SOON = 1.0
"""Seconds between two looks for members that are back."""

_FAILED = re.compile(r"md/raid(?:10?)?:(md\d+): Disk failure on (\S+), disabling device\.")
_LEFT = re.compile(r"md/raid(?:10?)?:(md\d+): Operation continuing on (\d+) devices\.")
_BROKEN = re.compile(r"md/raid:(md\d+): Cannot continue operation \((\d+)/(\d+) failed\)\.")
_NEWS = re.compile(r"md/raid\w*:|md\d+: detected capacity change")
"""How messages begin that an array started, or what happened to a member."""
_SYNC = re.compile(r"md: (?:delaying )?(?:recover|resync) of ")
"""How messages begin that a member is filled, which may be back under another name, or under that of another one.

md has them by the hundred each second while the last drive of a mirror is gone: a look after each of them would take
so long that the kernel overwrites the next failure before it is read.
"""
_NEXT_LINE = "\\x0a"
"""What /dev/kmsg has for a line feed: raid1.c and raid10.c log both lines in one message."""
_MARGIN = 5.0
"""Seconds between the appearance of a device and its first message, at least, for that to be about it."""
_DRIFT = 1e-3
"""How far the clock of messages is off at most: twice what ntpd corrects (500 ppm)."""
_FACILITY = 3
"""Bits of the level below the facility, which is 0 for the kernel."""
_MESSAGE = 8192
"""Bytes of the largest message (kernel, PRINTK_MESSAGE_MAX)."""


class KernelMessage(NamedTuple):
    """One message of the kernel: its number in this boot, when it was logged in seconds since the boot, its text.

    `read` is when it was logged, in seconds since 1970, None where that was before this began to read.
    """

    number: int
    seconds: float
    text: str
    read: float | None = None


class Dating:
    """When messages were logged, by the clock of the superblocks."""

    def __init__(self) -> None:
        self._apart, self._at = math.inf, 0.0

    def logged(self, seconds: float) -> float:
        """Return when a message was logged that is read now, in seconds since 1970; `seconds` since the boot has it.

        Both clocks are as far apart as with the message that was read soonest; they move away from each other slowly.
        """
        now = time.monotonic()
        apart = now - seconds
        self._apart, self._at = min(apart, self._apart + (now - self._at) * _DRIFT), now
        return time.time() - (apart - self._apart)


class FailureRecorder:
    """Follows the kernel's messages; knows the members of all arrays, as nothing says who a drive was that is gone."""

    def __init__(self, boot: str, recorded: Iterable[Failure] = ()) -> None:
        self._boot = boot
        self._last = max((one.number for one in recorded if one.boot == boot), default=-1)
        self._arrays: dict[str, str] = {}
        self._members: dict[tuple[str, str], str] = {}
        self._filling: set[tuple[str, str]] = set()
        self._open: dict[str, list[tuple[KernelMessage, str, str, str]]] = defaultdict(list)
        self._looked, self._returned = -math.inf, False

    def see(self, message: KernelMessage) -> list[Failure]:
        """Return the failures that are complete with this message."""
        if _SYNC.match(message.text):
            self._returned = True
        if not _NEWS.match(message.text):
            self.look_if_due()
            return []
        self.look()
        lines = [line for line in message.text.split(_NEXT_LINE) if line]
        # Other messages have text that a device, a client or a program chose, line feeds among it.
        if not all(any(pattern.fullmatch(line) for pattern in (_FAILED, _LEFT, _BROKEN)) for line in lines):
            return []
        return [failure for line in lines for failure in self._line(message, line)]

    def _line(self, message: KernelMessage, line: str) -> Iterator[Failure]:
        left, broken = _LEFT.fullmatch(line), _BROKEN.fullmatch(line)
        if failed := _FAILED.fullmatch(line):
            array, name = failed.groups()
            who = self._array(message, array), self._member(message, array, name)
            self._open[array].append((message, name, *who))
        elif left:
            yield from self._complete(left[1], int(left[2]), False)
        elif broken:
            yield from self._complete(broken[1], int(broken[3]) - int(broken[2]), True)

    def _complete(self, array: str, left: int, broken: bool) -> Iterator[Failure]:
        failures = self._open.pop(array, [])
        for message, name, uuid, member in failures:
            # read again after a restart of this
            if uuid and message.number > self._last:
                at = message.read or time.time() - time.monotonic() + message.seconds
                alone = left if len(failures) == 1 else None
                filling = (array, name) in self._filling
                yield Failure(self._boot, message.number, at, uuid, member, alone, broken, filling)
            # until it is seen in sync
            self._filling.add((array, name))

    def _array(self, message: KernelMessage, name: str) -> str:
        """The UUID of an array; empty where it is not known whose name that was."""
        return self._arrays.get(name, "") if message.read is not None or _is_older(name, message) else ""

    def _member(self, message: KernelMessage, array: str, name: str) -> str:
        """The identity of a member; empty where it is not known whose name that was."""
        if message.read is None:
            return _identity(name) if _is_older(name, message) else ""
        return self._members.get((array, name), "")

    def look(self) -> None:
        """Take down who the members are. A drive that is gone keeps what it was."""
        self._looked, self._returned = time.monotonic(), False
        for array, uuid, name in _members():
            self._arrays[array] = uuid
            if member := _identity(name):
                self._members[array, name] = member
            state = sysfs.text(paths.ROOT / "sys/block" / array / "md" / f"dev-{name}" / "state") or ""
            if "in_sync" in state:
                self._filling.discard((array, name))
            elif "spare" in state:
                self._filling.add((array, name))

    def look_if_due(self) -> None:
        """Take down the members LOOK seconds after the last time, and after SOON where one may be back."""
        if self.due() <= 0:
            self.look()

    def due(self) -> float:
        """Return the seconds until that."""
        return self._looked + (SOON if self._returned else LOOK) - time.monotonic()


def unidentified(array: str) -> list[str]:
    """Return the kernel names of the members of a running array, by its UUID, whose failures cannot be recorded."""
    found = [name for _, uuid, name in _members() if digits(uuid) == digits(array) and not _identity(name)]
    return [name for name in found if (paths.ROOT / "sys/class/block" / name).exists()]


def _members() -> Iterator[tuple[str, str, str]]:
    """Yield kernel name and UUID of each array with the kernel name of a member."""
    for array in sysfs.names(paths.ROOT / "sys/block"):
        md = paths.ROOT / "sys/block" / array / "md"
        uuid = sysfs.text(md / "uuid") if array.startswith("md") else None
        for entry in sysfs.names(md) if uuid else []:
            if uuid and entry.startswith("dev-"):
                yield array, uuid, entry.removeprefix("dev-")


def parsed(line: str) -> KernelMessage | None:
    """Return a message as /dev/kmsg has it (Documentation/ABI/testing/dev-kmsg); None where it is not the kernel's."""
    head, _, rest = line.partition(";")
    fields = head.split(",")
    if len(fields) < 3 or not all(field.isdigit() for field in fields[:3]):
        return None
    if int(fields[0]) >> _FACILITY:
        # a program wrote it to /dev/kmsg
        return None
    return KernelMessage(int(fields[1]), int(fields[2]) / 1e6, rest.partition("\n")[0])


def messages(log: int, wait: Callable[[], float]) -> Iterator[KernelMessage | None]:
    """Yield the messages of the kernel, from the oldest that it has, until its end.

    None comes after `wait` seconds without one.
    """
    log_has = select.poll()
    log_has.register(log, select.POLLIN)
    is_live, dating = False, Dating()
    for _ in count():
        is_live = is_live or not log_has.poll(0)
        if not log_has.poll(max(math.ceil(wait() * 1000), 0)):
            yield None
            continue
        try:
            line = os.read(log, _MESSAGE)
        except BrokenPipeError:
            continue  # messages were overwritten before they were read
        if not line:
            return
        if message := parsed(line.decode(errors="replace")):
            yield message._replace(read=dating.logged(message.seconds)) if is_live else message


def main(log: int) -> None:
    """Follow the kernel and record each failure; one that cannot be recorded is logged."""
    _shorten()
    recorder = FailureRecorder(sysfs.text(paths.ROOT / "proc/sys/kernel/random/boot_id") or "", load())
    recorder.look()
    for message in messages(log, recorder.due):
        recorder.look_if_due()
        for failure in recorder.see(message) if message else []:
            _record(failure)


def _record(failure: Failure) -> None:
    try:
        add(failure)
    except OSError as error:
        who = failure.member or f"a member of {failure.array}"
        print(f"the failure of {who} cannot be recorded: {error}", flush=True)
    _shorten()


def _shorten() -> None:
    try:
        shorten()
    except (OSError, MillraceError) as error:
        print(f"the record of failures cannot be shortened: {error}", flush=True)


def _is_older(name: str, message: KernelMessage) -> bool:
    """Whether a block device has its name since before a message.

    udev forgets a device that goes, and has when it first saw one that comes, in microseconds since the boot.
    """
    number = sysfs.text(paths.ROOT / "sys/class/block" / name / "dev")
    lines = (sysfs.text(paths.ROOT / f"run/udev/data/b{number}") or "").splitlines() if number else []
    seen = next((line.removeprefix("I:") for line in lines if line.startswith("I:")), "")
    return seen.isdigit() and int(seen) / 1e6 + _MARGIN + message.seconds * _DRIFT < message.seconds


def _identity(name: str) -> str:
    """The GUID of a partition, else the serial of a drive, as `System.identity` has them; else empty."""
    directory = (paths.ROOT / "sys/class/block" / name).resolve()
    is_partition = (directory / "partition").exists()
    if guid := sysfs.uevent(directory).get("PARTUUID", "").lower():
        return guid
    # hardly a server has such members, and this takes memory
    from millrace.inventory.drives import identify

    return identify(directory.parent if is_partition else directory).serial


if __name__ == "__main__":
    main(os.open("/dev/kmsg", os.O_RDONLY | os.O_CLOEXEC))
