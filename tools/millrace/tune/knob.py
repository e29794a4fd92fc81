# SPDX-License-Identifier: Apache-2.0
"""One kernel setting: where it is, what it should be, and why."""

import errno
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from millrace.inventory.cpus import cpu_list
from millrace.system import sysfs

# What the kernel answers where an interrupt is its own to place.
MANAGED = frozenset({errno.EPERM, errno.EIO})
MASK_GROUP = 32


class Setting(ABC):
    """Something that can be read and set. `reason` is a sentence for the reader of a report.

    `default` is what the kernel starts with, where that is documented. `deferred` is why a difference is reported and
    not set now. `refusals` are errors that mean `the kernel keeps this one`, which is right and no warning. What
    `interrupts` service for a moment is tried once in a boot.
    """

    wanted: str
    reason: str
    default: str | None = None
    deferred: str | None = None
    refusals: frozenset[int] = frozenset()
    interrupts: bool = False

    @property
    @abstractmethod
    def label(self) -> str:
        """What an administrator finds it by: a path, or a command."""

    @abstractmethod
    def read(self) -> str:
        """Return what is set now. OSError, Failed: there is no such setting."""

    @abstractmethod
    def write(self, value: str) -> None:
        """Set it. OSError, Failed: the kernel or the tool refuses."""

    def matches(self, current: str) -> bool:
        """Whether `current`, as read, equals what is wanted."""
        return current == self.wanted

    def original(self) -> str | None:
        """Return what restores the setting of now when it is written; None where nothing does."""
        return self.read()

    def follow_up(self) -> str | None:
        """Return what remains for an administrator to do after it was set; None for nothing."""
        return None


@dataclass(frozen=True)
class Knob(Setting):
    """A file in sysfs or procfs. `wanted` is written as it is."""

    path: Path
    wanted: str
    reason: str
    default: str | None = None
    deferred: str | None = None

    @property
    def label(self) -> str:
        """The path of the file."""
        return str(self.path)

    def read(self) -> str:
        """Return what is set now, without the kernel's decoration. OSError: there is no such file."""
        return current_value(self.path.read_text())

    def matches(self, current: str) -> bool:
        """Whether `current` means the same as what is written."""
        return current == current_value(self.wanted)

    def write(self, value: str) -> None:
        """Write the value as one line. OSError: the kernel refuses."""
        sysfs.write(self.path, f"{value}\n")

    def original(self) -> str | None:
        """Return `system` where the setting follows a sysctl, else its value. OSError: there is no such file."""
        text = self.path.read_text()
        # `200000 (system)` follows the sysctl and would not any more if the number were written
        return "system" if "(system)" in text else current_value(text)


@dataclass(frozen=True)
class InterruptKnob(Knob):
    """The CPUs that may take an interrupt, as a list."""

    refusals = MANAGED

    def matches(self, current: str) -> bool:
        """Whether both lists name the same CPUs."""
        return set(cpu_list(current)) == set(cpu_list(self.wanted))


@dataclass(frozen=True)
class MaskKnob(Knob):
    """A set of CPUs as the kernel's hexadecimal mask."""

    def matches(self, current: str) -> bool:
        """Whether both masks have the same bits."""
        return _bits(current) == _bits(self.wanted)


@dataclass(frozen=True)
class CoverKnob(MaskKnob):
    """A mask that must have at least the wanted CPUs: it may name some that are not there."""

    def matches(self, current: str) -> bool:
        """Whether every wanted CPU is in the mask."""
        return _bits(current) & _bits(self.wanted) == _bits(self.wanted)


@dataclass(frozen=True)
class ListenerKnob(Knob):
    """A file that lists what was added to it; writing adds one more line, and nothing takes it away again."""

    def read(self) -> str:
        """Return the lines without duplicates, sorted, with commas between. OSError: there is no such file."""
        return ", ".join(sorted({" ".join(line.split()) for line in self.path.read_text().splitlines()}))

    def matches(self, current: str) -> bool:
        """Whether the wanted line is among them."""
        return self.wanted in current.split(", ")

    def original(self) -> str | None:
        """Return None: a line that was added cannot be removed."""
        return None


def current_value(text: str) -> str:
    """Return the setting in the kernel's text: `[none] mq-deadline`, `2000000 (local)`, or fields with tabs between."""
    chosen = re.search(r"\[([^\]]+)\]", text)
    if chosen:
        return chosen.group(1)
    return " ".join(re.sub(r"\((local|system)\)", "", text).split())


def mask(cpus: Iterable[int]) -> str:
    """Return CPUs as the kernel writes them: groups of 32 bits in hexadecimal, commas between."""
    bits = sum(1 << cpu for cpu in set(cpus))
    groups = [f"{bits >> shift & 0xFFFFFFFF:08x}" for shift in range(0, max(bits.bit_length(), 1), MASK_GROUP)]
    return ",".join(reversed(groups))


def _bits(text: str) -> int:
    return int(text.replace(",", "") or "0", 16)
