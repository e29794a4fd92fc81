# SPDX-License-Identifier: Apache-2.0
"""Write the health: the file for Cockpit, the banner for the console."""

from collections.abc import Callable

from millrace.lifecycle.access.one_time import forget_if_used
from millrace.observe.health.banner import banner, refresh_consoles, write_banner
from millrace.observe.health.checks import filesystem
from millrace.observe.health.current import last_written
from millrace.observe.health.model import Health, Level, continued
from millrace.serve.share import usage
from millrace.system import net, paths
from millrace.system.documents import write_model
from millrace.system.errors import Failed
from millrace.system.net import Interface
from millrace.system.os_release import image_version
from millrace.system.run import Runner, quickly


def write(
    health: Health,
    ports: Callable[[], list[Interface]] = net.serving,
    refresh: Callable[[], None] = refresh_consoles,
    run: Runner = quickly,
) -> None:
    """Write health and usage of the shares, and remove a used one-time password from the console."""
    # A pool that has failed is not asked what it holds: the answer may never come.
    if not any(finding.check == filesystem.NAME and finding.level is Level.FAIL for finding in health.findings):
        usage.write(run)
    publish(health, ports, refresh)


def publish(
    health: Health,
    ports: Callable[[], list[Interface]] = net.serving,
    refresh: Callable[[], None] = refresh_consoles,
) -> None:
    """Write health.json and the banner; login prompts are drawn again where it changed."""
    write_model(paths.health_file(), continued(last_written(), health))
    try:
        interfaces = ports()
    except Failed:
        # The banner is worth having without addresses too.
        interfaces = []
    changed = write_banner(banner(image_version(), interfaces, health))
    if forget_if_used() or changed:
        refresh()
