# SPDX-License-Identifier: Apache-2.0
"""How old the copies of each share are, and whether they are late; from records, without opening the pool."""

from millrace.observe.metrics.family import Family, gauge
from millrace.protect import light
from millrace.protect.light import Light
from millrace.protect.protection import places
from millrace.serve.config import store
from millrace.storage.record.pool_file import known_pool
from millrace.system import ages


def families() -> list[Family]:
    """Return what is known of the copies of all shares at each place; nothing without a pool."""
    if known_pool() is None:
        return []
    lights = places.lights(store.read().config)
    late = light.problems(lights)
    return [
        gauge(
            "protection_late",
            "Whether the scheduled copies of a share at a place are late or failed (1) or not (0).",
            *((each in late, _labels(each)) for each in lights if each.schedule is not None),
        ),
        gauge(
            "protection_timestamp_seconds",
            "Time at which the newest copy of a share at a place was made.",
            *((ages.when(each.last).timestamp(), _labels(each)) for each in lights if each.last is not None),
        ),
        gauge(
            "protection_drill_timestamp_seconds",
            "Time at which a restore of a share from a place was last tried.",
            *((ages.when(each.drill).timestamp(), _labels(each)) for each in lights if each.drill is not None),
        ),
    ]


def _labels(of: Light) -> dict[str, str]:
    return {"share": of.share, "place": of.place}
