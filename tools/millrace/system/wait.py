# SPDX-License-Identifier: Apache-2.0
"""Wait for something that another program does in its own time."""

import time
from collections.abc import Callable, Iterable
from typing import TypeVar

Seen = TypeVar("Seen")


def wait_until(
    look: Callable[[], Seen],
    done: Callable[[Seen], bool],
    pauses: Iterable[float],
    pause: Callable[[float], None] = time.sleep,
) -> Seen:
    """Check, and again after each of `pauses` (in seconds) until `done`; return the last result, done or not."""
    seen = look()
    for seconds in pauses:
        if done(seen):
            break
        pause(seconds)
        seen = look()
    return seen
