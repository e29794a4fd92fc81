# SPDX-License-Identifier: Apache-2.0
"""The places where copies of a share are, and the lights of all shares there."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import get_args

from millrace.protect.backup import backup_light
from millrace.protect.light import Light, Lights, Place, absent
from millrace.protect.protection.protection_model import Protection, ShareProtection
from millrace.protect.replica import replica_light
from millrace.protect.snapshot import snapshot_job, snapshot_light
from millrace.serve.config.model import Config
from millrace.system.run import Runner

PLACES: tuple[Place, ...] = get_args(Place)
SOURCES: dict[Place, Lights] = {
    "here": snapshot_light.lights,
    "second-server": replica_light.lights,
    "off-site": backup_light.lights,
}
"""What makes copies at each place. Of a place without an entry nothing has been set up."""


def lights(config: Config, run: Runner | None = None, sources: Mapping[Place, Lights] = SOURCES) -> list[Light]:
    """Return the lights of all shares, share by share in the order of the places.

    What a place has of another name, such as the share of another server, follows with the lights that there are.
    """
    now = datetime.now(UTC)
    known = {(light.share, light.place): light for source in sources.values() for light in source(config, now, run)}
    own = [(share.name, place) for share in config.shares for place in PLACES]
    others = sorted(known.keys() - set(own), key=lambda each: (each[0], PLACES.index(each[1])))
    return [*(known.get(each) or absent(*each) for each in own), *(known[each] for each in others)]


def shown(config: Config, share: str | None, run: Runner) -> Protection:
    """Return the lights of all shares, or of one. BadInput: `share` is no name. Refused: there is no such share."""
    by_share: dict[str, list[Light]] = {}
    for light in lights(config, run):
        by_share.setdefault(light.share, []).append(light)
    if share is not None and share not in by_share:
        snapshot_job.present(config, share)
    rows = [ShareProtection(share=name, lights=of) for name, of in by_share.items() if share in (None, name)]
    return Protection(shares=rows)
