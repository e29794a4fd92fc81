# SPDX-License-Identifier: Apache-2.0
"""What can be tuned for: measurements of the ladder by name, their weights, and profiles of weights. Pure."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from millrace.measure.bench.result.model import Direction, Quantity
from millrace.measure.tuner.model import Figures, Goal, Unit
from millrace.system.errors import BadInput

Place = Literal["nfs", "local", "smb", "arrays"]
ProfileName = Literal["training", "checkpoint", "mixed", "smb"]
"""The profiles, by what an administrator chooses."""
REBUILD = "rebuild"
PLACES: dict[Place, str] = {"nfs": "over NFS", "local": "on the server itself", "smb": "over SMB"}


@dataclass(frozen=True)
class Kind:
    """One goal: the workload of the ladder (`seq/read`), where it runs, and which of its figures counts.

    `work` is None for the one that is measured while the others are.
    """

    name: str
    title: str
    work: str | None
    place: Place
    quantity: Quantity
    direction: Direction

    @property
    def unit(self) -> Unit:
        """The unit of its figure."""
        return "bytes/s" if self.quantity == "bandwidth" else "1/s"

    def weighted(self, weight: float) -> Goal:
        """Return it as a goal of a run."""
        return Goal(name=self.name, title=self.title, weight=weight, unit=self.unit)


@dataclass(frozen=True)
class GoalProfile:
    """Weights for one use of a server, with the reason for them."""

    weights: dict[str, float]
    reason: str


_BASE: list[tuple[str, str, str, Quantity, Direction]] = [
    ("seq-read", "sequential reads", "seq/read", "bandwidth", "read"),
    ("seq-write", "sequential writes", "seq/write", "bandwidth", "write"),
    ("rand-read", "random 4 KiB reads", "rand/read", "operations", "read"),
    ("rand-write", "random 4 KiB writes", "rand/write", "operations", "write"),
    ("fsync", "4 KiB writes, each synced", "fsync/fsync", "operations", "commit"),
    ("create", "small files created", "meta/create", "operations", "create"),
    ("checkpoint-save", "a checkpoint written", "checkpoint/save", "bandwidth", "write"),
    ("checkpoint-load", "a checkpoint read", "checkpoint/load", "bandwidth", "read"),
]

GOALS: dict[str, Kind] = {
    name: Kind(name, f"{title}, {PLACES[place]}", work, place, quantity, direction)
    for place in PLACES
    for base, title, work, quantity, direction in _BASE
    for name in [base if place == "nfs" else f"{place}-{base}"]
} | {REBUILD: Kind(REBUILD, "a rebuild beside the other goals, of each drive", None, "arrays", "bandwidth", "read")}
"""By name; without a prefix over NFS, which is what the pool is for."""

PROFILES: dict[str, GoalProfile] = {
    "training": GoalProfile(
        {"seq-read": 4, "rand-read": 2, "checkpoint-save": 1},
        "Training reads its samples in every epoch, large ones and small ones, and saves a checkpoint now and then.",
    ),
    "checkpoint": GoalProfile(
        {"checkpoint-save": 4, "checkpoint-load": 2, "fsync": 1},
        "Accelerators wait while a checkpoint is saved; it is loaded after a failure only; small metadata is synced.",
    ),
    "mixed": GoalProfile(
        {"seq-read": 2, "seq-write": 2, "rand-read": 1, "rand-write": 1, "fsync": 1, "create": 1},
        "Many users at once: large files first, and nothing small may fall behind for them.",
    ),
    "smb": GoalProfile(
        {"smb-seq-read": 3, "smb-seq-write": 3, "smb-rand-read": 1, "smb-create": 1},
        "Workstations copy large files both ways, and browse directories of small ones.",
    ),
}


def parse(text: str) -> list[Goal]:
    """Return the goals of `seq-read=3,fsync=1`, weights normalised; a goal without a number weighs 1.

    BadInput: a goal that does not exist or is named twice, a weight that is not a positive number, no goal at all.
    """
    weights: dict[str, float] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, number = (word.strip() for word in part.partition("="))
        if name not in GOALS:
            raise BadInput(f"There is no goal {name!r}; goals are {', '.join(GOALS)}.")
        if name in weights:
            raise BadInput(f"The goal {name} is named twice; name it once, with its weight.")
        weights[name] = _weight(name, number) if equals else 1.0
    if not weights:
        raise BadInput("Name at least one goal with its weight, such as seq-read=3,fsync=1.")
    if list(weights) == [REBUILD]:
        raise BadInput("The goal rebuild is measured beside others; name one, such as seq-read=3,rebuild=1.")
    return weighted(weights)


def of_profile(name: str) -> list[Goal]:
    """Return the goals of a profile. BadInput: there is no such profile."""
    if name not in PROFILES:
        raise BadInput(f"There is no profile {name!r}; profiles are {', '.join(PROFILES)}.")
    return weighted(PROFILES[name].weights)


def weighted(weights: Mapping[str, float]) -> list[Goal]:
    """Return goals whose weights add up to 1."""
    whole = math.fsum(weights.values())
    return [GOALS[name].weighted(weight / whole) for name, weight in weights.items()]


def score(goals: list[Goal], figures: Figures, reference: Figures) -> float | None:
    """Return the weighted geometric mean of the figures relative to the reference's; None where one is missing or 0."""
    total = 0.0
    for goal in goals:
        measured, known = figures.get(goal.name, 0.0), reference.get(goal.name, 0.0)
        if measured <= 0 or known <= 0:
            return None
        ratio = math.log(measured / known)
        total += goal.weight * (ratio if goal.better == "higher" else -ratio)
    return math.exp(total)


def _weight(name: str, text: str) -> float:
    # a plain number: what float() also takes (`nan`, `1_0`, `1e400`) is no weight
    number = float(text) if re.fullmatch(r"\d{1,6}(\.\d{1,6})?", text, re.ASCII) else 0.0
    if number <= 0:
        raise BadInput(f"The weight of {name} is {text!r}; give a number above 0, such as {name}=2.")
    return number
