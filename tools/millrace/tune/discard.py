# SPDX-License-Identifier: Apache-2.0
"""Whether an array of the data passes discards on, as the plan and its members of now allow."""

from dataclasses import dataclass

from millrace.storage.array.devices import block
from millrace.storage.array.discard import allowed, without_guarantee
from millrace.storage.record.model import Pool
from millrace.system import sysfs
from millrace.tune.knob import Knob, Setting

LIMIT = "queue/discard_max_bytes"
HARDWARE = "discard_max_hw_bytes"


@dataclass(frozen=True)
class DiscardKnob(Knob):
    """The largest discard of an array that passes them on, in bytes."""

    def matches(self, current: str) -> bool:
        """Whether discards are passed on, however large."""
        return current != "0"


@dataclass(frozen=True)
class NoDiscardKnob(Knob):
    """The limit that keeps discards from the drives; restoring another one would let them through."""

    def original(self) -> str | None:
        """Return None: there is no other value that is safe."""
        return None


def discard_settings(pool: Pool, device: str) -> list[Setting]:
    """Return the setting of one array; none for a pool that was made before that was planned."""
    wanted = allowed(pool)
    if wanted is None:
        return []
    path = block(device) / LIMIT
    if not wanted:
        names = ", ".join(without_guarantee(pool))
        why = f"{names} may not read as zeroes after a discard" if names else "the plan keeps discards from the drives"
        return [NoDiscardKnob(path, "0", why)]
    # What an array that was started without discards cannot do is not set: the difference stays in the report.
    most, unit = (sysfs.number(block(device) / "queue" / name) or 0 for name in (HARDWARE, "discard_granularity"))
    late = None if most else "it was started without; restart the server"
    value = str(most // unit * unit) if most and unit else "more than 0"
    return [DiscardKnob(path, value, "a trim deallocates free space on the drives", deferred=late)]
