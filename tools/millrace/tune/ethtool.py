# SPDX-License-Identifier: Apache-2.0
"""How many queues a port has, through ethtool."""

import json
from dataclasses import dataclass

from millrace.errors import Failed
from millrace.system.run import Runner, last_words
from millrace.tune.knob import Setting

MISSING = 127  # exit status for a tool that is not installed


@dataclass(frozen=True)
class Channels:
    """The queues that carry both directions: how many there are and at most."""

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
    try:
        [said] = json.loads(result.out)
        found = Channels(now=int(said.get("combined", 0)), most=int(said.get("combined-max", 0)))
    except (ValueError, TypeError, AttributeError) as error:
        raise Failed(f"ethtool does not report the queues of {port}: {error}") from error
    return found if found.most else None


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
        result = self.run(["ethtool", "-L", self.port, "combined", value])
        if result.status != 0:
            raise Failed(last_words(result))
