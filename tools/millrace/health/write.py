# SPDX-License-Identifier: Apache-2.0
"""Leave the health where others look: the file for Cockpit, the banner for the console."""

from collections.abc import Callable

from millrace import paths, store
from millrace.admin.one_time import forget_if_used
from millrace.errors import Failed
from millrace.health.banner import banner, image_version, refresh_consoles, write_banner
from millrace.health.model import Health
from millrace.share import interfaces
from millrace.share.interfaces import Interface


def write(
    health: Health,
    ports: Callable[[], list[Interface]] = interfaces.serving,
    refresh: Callable[[], None] = refresh_consoles,
) -> None:
    """Write health.json and the banner, and forget a one-time password that was used."""
    store.write_model(paths.health_file(), health)
    try:
        found = ports()
    except Failed:
        # The banner is worth having without addresses too.
        found = []
    changed = write_banner(banner(image_version(), found, health))
    if forget_if_used() or changed:
        refresh()
