# SPDX-License-Identifier: Apache-2.0
"""How many queues a port has and how long its rings are, through ethtool."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from millrace.system.errors import Failed
from millrace.system.run import Result, Runner, last_words
from millrace.tune.knob import Setting

MISSING = 127  # exit status for a tool that is not installed

Direction = Literal["rx", "tx"]
Said = TypeVar("Said")


@dataclass(frozen=True)
class Channels:
    """The queues that carry both directions: how many there are and at most."""

    now: int
    most: int


@dataclass(frozen=True)
class Ring:
    """The descriptors of each ring of one direction: how many there are and at most."""

    now: int
    most: int


def channels(port: str, run: Runner) -> Channels | None:
    """Return the queues of a port; None where its driver has no such setting.

    Failed: ethtool is not installed, or its output cannot be parsed.
    """
    result = run(["ethtool", "--json", "-l", port])
    if result.status == MISSING:
        raise Failed("ethtool is not installed; queues of network ports are not changed")
    if result.status != 0:
        return None

    def made(said: dict[str, Any]) -> Channels:
        return Channels(now=int(said.get("combined", 0)), most=int(said.get("combined-max", 0)))

    queues = reported(result, f"the queues of {port}", made)
    return queues if queues.most else None


def rings(port: str, run: Runner) -> dict[Direction, Ring]:
    """Return the rings of a port that its driver can resize, by direction. Failed: the output cannot be parsed."""
    result = run(["ethtool", "--json", "-g", port])
    if result.status != 0:
        return {}

    def made(said: dict[str, Any]) -> dict[Direction, Ring]:
        directions: tuple[Direction, ...] = ("rx", "tx")
        return {one: Ring(int(said.get(one, 0)), int(said.get(f"{one}-max", 0))) for one in directions}

    return {direction: ring for direction, ring in reported(result, f"the rings of {port}", made).items() if ring.most}


def reported(result: Result, what: str, made: Callable[[dict[str, Any]], Said]) -> Said:
    """Return what is made of ethtool's JSON for one port. Failed: it is no such JSON; `what` was asked for."""
    try:
        [said] = json.loads(result.out)
        return made(said)
    except (ValueError, TypeError, AttributeError) as error:
        raise Failed(f"ethtool does not report {what}: {error}") from error


def change(run: Runner, option: str, port: str, *words: str) -> None:
    """Set something of a port, such as `-L` its queues. Failed: the driver refuses; its words."""
    result = run(["ethtool", option, port, *words])
    if result.status != 0:
        raise Failed(last_words(result))


@dataclass(frozen=True)
class ChannelsKnob(Setting):
    """The number of queues of one port. The driver makes its vectors again when it changes, and the link may go down.

    A link that comes back starts another run: a driver that always keeps another number would never come to rest.
    """

    port: str
    wanted: str
    reason: str
    run: Runner
    interrupts = True

    @property
    def label(self) -> str:
        """The command that sets it, without the number."""
        return f"ethtool -L {self.port} combined"

    def read(self) -> str:
        """Return the number of queues. Failed: ethtool does not show one."""
        found = channels(self.port, self.run)
        if found is None:
            raise Failed(f"{self.port} does not report its queues")
        return str(found.now)

    def write(self, value: str) -> None:
        """Set the number of queues. Failed: the driver refuses."""
        change(self.run, "-L", self.port, "combined", value)


@dataclass(frozen=True)
class RingKnob(Setting):
    """The descriptors of each ring of one direction of a port, at most `most`. As with queues the link may go down."""

    port: str
    direction: Direction
    wanted: str
    reason: str
    most: int
    run: Runner
    interrupts = True

    @property
    def label(self) -> str:
        """The command that sets it, without the number."""
        return f"ethtool -G {self.port} {self.direction}"

    def read(self) -> str:
        """Return the descriptors of a ring. Failed: ethtool does not show them."""
        found = rings(self.port, self.run).get(self.direction)
        if found is None:
            raise Failed(f"{self.port} does not report its rings")
        return str(found.now)

    def write(self, value: str) -> None:
        """Set the descriptors of each ring. Failed: the driver refuses."""
        change(self.run, "-G", self.port, self.direction, value)
