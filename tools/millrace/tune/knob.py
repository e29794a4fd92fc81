# SPDX-License-Identifier: Apache-2.0
"""One kernel setting: where it is, what it should be, and why."""

import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Knob:
    """A file in sysfs or /proc/sys. `wanted` is written as it is; `reason` is a sentence for a person."""

    path: Path
    wanted: str
    reason: str

    def read(self) -> str:
        """What is set now, without the kernel's decoration; OSError where there is no such knob."""
        return standing(self.path.read_text())

    def holds(self, current: str) -> bool:
        return current == standing(self.wanted)

    def write(self) -> None:
        """OSError where the kernel refuses."""
        self.path.write_text(f"{self.wanted}\n")


@dataclass(frozen=True)
class ListenerKnob(Knob):
    """A file that lists what was added to it; writing adds one more line."""

    def read(self) -> str:
        return ", ".join(sorted({" ".join(line.split()) for line in self.path.read_text().splitlines()}))

    def holds(self, current: str) -> bool:
        return self.wanted in current.split(", ")


def standing(text: str) -> str:
    """The setting in what the kernel prints: `[none] mq-deadline`, `2000000 (local)`, or fields with tabs between."""
    chosen = re.search(r"\[([^\]]+)\]", text)
    if chosen:
        return chosen.group(1)
    return " ".join(re.sub(r"\((local|system)\)", "", text).split())
