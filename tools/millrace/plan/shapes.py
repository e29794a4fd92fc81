# SPDX-License-Identifier: Apache-2.0
"""The layouts that a number of equal drives allows."""

from dataclasses import dataclass
from typing import Literal

from millrace.plan.override import InapplicablePolicy
from millrace.plan.policy.model import LayoutPolicy

Level = Literal["raid1", "raid5", "raid6", "raid50", "raid60"]
PARITY: dict[Level, int] = {"raid5": 1, "raid6": 2, "raid50": 1, "raid60": 2}
SMALLEST_LEG: dict[Level, int] = {"raid1": 1, "raid5": 3, "raid6": 4, "raid50": 3, "raid60": 4}
NESTED: dict[Level, Level] = {"raid5": "raid50", "raid6": "raid60"}
USUAL_LEG = range(6, 13)
FEWEST_FOR_RAID6, FEWEST_FOR_LEGS = 6, 13
SPARES_OF_ONE_LEG = 2


@dataclass(frozen=True)
class Shape:
    """`size` drives in each of `legs` legs; the others are hot spares."""

    level: Level
    legs: int
    size: int
    spares: int

    @property
    def data_per_leg(self) -> int:
        """Drives of a leg whose capacity holds data, in each stripe."""
        return self.size - PARITY[self.level] if self.level in PARITY else 1

    @property
    def title(self) -> str:
        """The layout in words: `RAID50 of 2 × 9 drives`."""
        if self.level == "raid1" and self.size == 1:
            return "One drive without redundancy"
        drives = f"{self.legs} × {self.size}" if self.legs > 1 else f"{self.size}"
        return f"{self.level.upper()} of {drives} drives"

    @property
    def survives(self) -> str:
        """Which failures it survives."""
        failures = self.size - 1 if self.level == "raid1" else PARITY[self.level]
        words = f"survives {failures or 'no'} drive failure{'s' * (failures > 1)}"
        return f"{words} in each of the {self.legs} legs" if self.legs > 1 else words


def shapes(count: int, policy: LayoutPolicy) -> list[Shape]:
    """Return every layout of `count` equal drives that the policy allows. InapplicablePolicy: there is none."""
    used = count - (policy.spares or 0)
    if used < 1 or (used < 2 <= count):
        raise InapplicablePolicy(
            "layout.spares", f"{policy.spares} hot spares leave {max(0, used)} of {count} drives.", "Set fewer."
        )
    levels = _levels(used, policy)
    layouts = [shape for level in levels for shape in _usual(level, count, policy)]
    if not layouts:
        level = levels[0]
        key, wanted = _demand(policy)
        raise InapplicablePolicy(
            key,
            f"{count} equal drives{f' with {policy.spares} hot spares' if policy.spares is not None else ''} cannot "
            f"form {wanted}: {level.upper()} needs {_smallest(level)}.",
            "Change the policy, or add drives.",
        )
    return layouts


def _usual(level: Level, count: int, policy: LayoutPolicy) -> list[Shape]:
    usual = USUAL_LEG if level in NESTED.values() else range(SMALLEST_LEG[level], count + 1)
    return _of(level, count, usual, policy) or _of(level, count, range(SMALLEST_LEG[level], count + 1), policy)


def _levels(used: int, policy: LayoutPolicy) -> list[Level]:
    """The levels that compete; where the policy leaves it open, the score knows what a rebuild risks."""
    if policy.level:
        return [policy.level]
    if used <= 2 and policy.resilience != "double":
        return ["raid1"]
    if used < SMALLEST_LEG["raid6"] and policy.resilience == "double":
        raise InapplicablePolicy(
            "layout.resilience",
            f"{used} drives cannot store data that survives the failure of any two.",
            'Add drives (at least 4 are needed), or set resilience = "single".',
        )
    several = policy.legs > 1 if policy.legs is not None else used >= FEWEST_FOR_LEGS
    return [NESTED[base] if several else base for base in _bases(used, policy)]


def _bases(used: int, policy: LayoutPolicy) -> list[Level]:
    if policy.resilience:
        return ["raid5" if policy.resilience == "single" else "raid6"]
    # One leg of many drives loses too much with its second failure; several legs share the risk.
    one_leg = used < FEWEST_FOR_LEGS or policy.legs == 1
    if one_leg and used >= FEWEST_FOR_RAID6:
        return ["raid6"]
    return ["raid5", "raid6"] if used >= SMALLEST_LEG["raid6"] else ["raid5"]


def _of(level: Level, count: int, sizes: range, policy: LayoutPolicy) -> list[Shape]:
    if level == "raid1":
        spares = policy.spares or 0
        return [Shape(level, 1, count - spares, spares)]
    layouts = []
    for legs in _leg_counts(level, count, policy):
        for size in sizes:
            shape = Shape(level, legs, size, count - legs * size)
            if _spares_fit(shape, policy):
                layouts.append(shape)
    return layouts


def _leg_counts(level: Level, count: int, policy: LayoutPolicy) -> range:
    if level not in NESTED.values():
        return range(1, 2)
    if policy.legs is not None:
        return range(policy.legs, policy.legs + 1)
    return range(2, count // SMALLEST_LEG[level] + 1)


def _spares_fit(shape: Shape, policy: LayoutPolicy) -> bool:
    if policy.spares is not None:
        return shape.spares == policy.spares
    return 0 <= shape.spares <= max(SPARES_OF_ONE_LEG, shape.legs)


def _demand(policy: LayoutPolicy) -> tuple[str, str]:
    """The key that asks for what cannot be, and what it asks for."""
    if policy.legs is not None:
        return "layout.legs", f"{policy.legs} equal leg{'s' * (policy.legs > 1)}"
    if policy.level:
        return "layout.level", policy.level.upper()
    if policy.spares is not None:
        return "layout.spares", "equal legs"
    return "layout.resilience", f"a layout of {policy.resilience} resilience"


def _smallest(level: Level) -> str:
    drives = f"{SMALLEST_LEG[level]} drives or more"
    return f"two legs or more of {drives}" if level in NESTED.values() else drives
