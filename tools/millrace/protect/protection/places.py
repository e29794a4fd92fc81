# SPDX-License-Identifier: Apache-2.0
"""The places where copies of a share are, and the lights of all shares there."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import get_args

from millrace.protect.light import Light, Lights, Place, absent
from millrace.protect.protection.protection_model import Protection, ShareProtection
from millrace.protect.snapshot import snapshot_job, snapshot_light
from millrace.serve.config.model import Config
from millrace.system.run import Runner

PLACES: tuple[Place, ...] = get_args(Place)
SOURCES: dict[Place, Lights] = {"here": snapshot_light.lights}
"""What makes copies at each place. Of a place without an entry nothing has been set up."""


def lights(config: Config, run: Runner | None = None, sources: Mapping[Place, Lights] = SOURCES) -> list[Light]:
    """Return the lights of all shares, share by share in the order of the places."""
    now = datetime.now(UTC)
    known = {(light.share, light.place): light for source in sources.values() for light in source(config, now, run)}
    return [known.get((share.name, place)) or absent(share.name, place) for share in config.shares for place in PLACES]


def shown(config: Config, share: str | None, run: Runner) -> Protection:
    """Return the lights of all shares, or of one. BadInput: `share` is no name. Refused: there is no such share."""
    of = [each.name for each in (config.shares if share is None else [snapshot_job.present(config, share)])]
    all_lights = lights(config, run)
    return Protection(
        shares=[ShareProtection(share=name, lights=[each for each in all_lights if each.share == name]) for name in of]
    )
