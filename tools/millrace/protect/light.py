# SPDX-License-Identifier: Apache-2.0
"""The light of a share at a place: whether there is a copy, how old it is, and whether it is in time.

Each room that makes copies has a function of the type `Lights`. `protection/places.py` lists them.
"""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Literal

from millrace.serve.config.model import Config
from millrace.system.documents import Contract, Count
from millrace.system.run import Runner

Place = Literal["here", "second-server", "off-site"]
LightState = Literal["none", "ok", "late", "failed", "running"]


class Light(Contract):
    """The copies of a share at a place. Times are ISO 8601 in UTC, `period` is in seconds.

    `none`: there is no copy, or no schedule that keeps one. `last` is when the newest copy was made, `next` when the
    next one is due, and `drill` when a restore was last tried there. `sentence` is the state, `todo` what to do.
    """

    share: str
    place: Place
    state: LightState
    schedule: str | None
    last: str | None
    period: Count | None
    next: str | None
    drill: str | None
    sentence: str
    todo: str | None


Lights = Callable[[Config, datetime, Runner | None], list[Light]]
"""The lights of all shares of the desired state at one place, now. Read from records: the pool is not opened.

With a runner a copy that is being made is `running`; without one no process is started.
"""

ABSENT: dict[Place, str] = {
    "here": "No schedule of snapshots has been set for share {share}.",
    "second-server": "No second server has been set up for share {share}.",
    "off-site": "No backup off site has been set up for share {share}.",
}


def absent(share: str, place: Place, todo: str | None = None, last: str | None = None) -> Light:
    """Return the light of a share whose copies nothing makes by itself at a place; `last` is its newest copy."""
    return Light(
        share=share,
        place=place,
        state="none",
        schedule=None,
        last=last,
        period=None,
        next=None,
        drill=None,
        sentence=ABSENT[place].format(share=share),
        todo=todo,
    )


def problems(lights: Iterable[Light]) -> list[Light]:
    """Return the lights to warn of: a copy that is late, or that failed. A share without a copy is none."""
    return [light for light in lights if light.state in ("late", "failed")]
