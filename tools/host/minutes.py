# SPDX-License-Identifier: Apache-2.0
"""What a run of the tests costs: minutes of each part and story, in a file, and what to cut where it takes too long."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

ALLOWED = 65.0
"""Minutes from an empty cache on two processors: a run is interrupted after 90, and a busy host is slower."""
DEAREST = 5


@dataclass
class Spent:
    """What a lane did for a while: a part of the tests, or the wait for an image. Seconds since the run began.

    `stories` are the files of tests with their seconds.
    """

    part: str
    lane: int
    began: float
    ended: float = 0.0
    stories: dict[str, float] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """How long it took."""
        return self.ended - self.began


class Minutes:
    """All that was spent so far; the file has what has ended."""

    def __init__(self, file: Path | None = None, allowed: float = ALLOWED) -> None:
        self._file, self._allowed = file, allowed
        self._lock, self._began = Lock(), time.monotonic()
        self.spent: list[Spent] = []

    @contextmanager
    def timed(self, part: str, lane: int) -> Iterator[Spent]:
        """Time what the context does; it enters the stories."""
        found = Spent(part, lane, time.monotonic() - self._began)
        try:
            yield found
        finally:
            found.ended = time.monotonic() - self._began
            with self._lock:
                self.spent.append(found)
                self._write()

    def _write(self) -> None:
        if self._file is None:
            return
        self._file.parent.mkdir(parents=True, exist_ok=True)
        parts = [
            {
                "part": spent.part,
                "lane": spent.lane,
                "began": _minutes(spent.began),
                "minutes": _minutes(spent.seconds),
                "stories": {name: _minutes(seconds) for name, seconds in _dearest_first(spent.stories)},
            }
            for spent in sorted(self.spent, key=lambda spent: (spent.lane, spent.began))
        ]
        document = {"minutes": _minutes(self._whole()), "allowed": self._allowed, "parts": parts}
        self._file.write_text(json.dumps(document, indent=2) + "\n")

    def _whole(self) -> float:
        return max((one.ended for one in self.spent), default=0.0)

    def lines(self) -> Iterator[str]:
        """Return what each lane and the five dearest stories took, and what to cut of a run that took too long."""
        lanes = sorted({spent.lane for spent in self.spent})
        for lane in lanes:
            parts = sorted((spent for spent in self.spent if spent.lane == lane), key=lambda spent: spent.began)
            said = ", ".join(f"{spent.part} {spent.seconds / 60:.1f}" for spent in parts)
            yield f"lane {lane + 1}: {sum(spent.seconds for spent in parts) / 60:.1f} minutes ({said})"
        stories = {name: seconds for spent in self.spent for name, seconds in spent.stories.items()}
        for name, seconds in _dearest_first(stories)[:DEAREST]:
            yield f"   {seconds / 60:5.1f} minutes {name}"
        over = self._whole() / 60 - self._allowed
        if over > 0:
            took = f"the run took {self._whole() / 60:.0f} minutes"
            yield f"{took}, and {self._allowed:.0f} are allowed: {self._cut(over)}"

    def _cut(self, over: float) -> str:
        """Which stories of the lane that ended last would have saved so many minutes."""
        last = max(self.spent, key=lambda spent: spent.ended).lane
        stories = {
            name: seconds for spent in self.spent if spent.lane == last for name, seconds in spent.stories.items()
        }
        chosen: list[str] = []
        left = over
        for name, seconds in _dearest_first(stories):
            if left <= 0:
                break
            chosen.append(f"{name} ({seconds / 60:.1f})")
            left -= seconds / 60
        return f"make these of lane {last + 1} cheaper, or give them the mark soak: {', '.join(chosen)}"


def _dearest_first(stories: dict[str, float]) -> list[tuple[str, float]]:
    return sorted(stories.items(), key=lambda one: -one[1])


def _minutes(seconds: float) -> float:
    return round(seconds / 60, 2)
