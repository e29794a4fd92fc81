# SPDX-License-Identifier: Apache-2.0
"""The error counters of this server by the keys under which their rises are kept (`rises`)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date

from millrace.inventory import error_counters
from millrace.inventory.error_counters import CountedLink, Module
from millrace.inventory.model import Drive
from millrace.storage.drive import counter_rises
from millrace.storage.drive.counter_rises import LIFETIME, Rises
from millrace.system import paths

CORRECTED, UNCORRECTED = "corrected", "uncorrected"
TIMES, MILLISECONDS = "times", "ms"
THROTTLED, THROTTLED_SECONDS, HOT_MINUTES = "throttled", "throttled-seconds", "hot-minutes"


@dataclass(frozen=True)
class Heat:
    """What a drive counted of its heat in its life; None for what it does not report."""

    throttled: int | None
    throttled_seconds: int | None
    hot_minutes: int | None


def of_modules(modules: Iterable[Module]) -> dict[str, int]:
    """Return the counters of memory modules."""
    found = {}
    for one in modules:
        found[memory_key(one.key, CORRECTED)] = one.corrected
        found[memory_key(one.key, UNCORRECTED)] = one.uncorrected
    return found


def of_links(links: Iterable[CountedLink]) -> dict[str, int]:
    """Return the counters of both ends of PCIe links."""
    found = {}
    for end in (end for link in links for end in link.ends):
        found[link_key(end.key, CORRECTED)] = end.errors.corrected
        found[link_key(end.key, UNCORRECTED)] = end.errors.uncorrected
    return found


def of_packages(packages: Mapping[int, tuple[int, int]]) -> dict[str, int]:
    """Return the counters of the heat of CPU sockets."""
    found = {}
    for package, (times, ms) in packages.items():
        found[cpu_key(package, TIMES)] = times
        found[cpu_key(package, MILLISECONDS)] = ms
    return found


def of_drives(heat: Mapping[str, Heat]) -> dict[str, int]:
    """Return the counters that drives keep by themselves, by serial; without those that are not known."""
    found = {}
    for serial, one in heat.items():
        named = ((THROTTLED, one.throttled), (THROTTLED_SECONDS, one.throttled_seconds), (HOT_MINUTES, one.hot_minutes))
        found.update({drive_key(serial, name): value for name, value in named if serial and value is not None})
    return found


def recorded(before: Rises, drives: Iterable[Drive], heat: Mapping[str, Heat], today: date) -> Rises:
    """Return the record with all counters of this server of now."""
    counted = {
        **of_modules(error_counters.modules(paths.ROOT)),
        **of_links(error_counters.links(paths.ROOT, drives)),
        **of_packages(error_counters.throttled_packages(paths.ROOT)),
    }
    since_boot = counter_rises.count(before, counted, counter_rises.boot_id(), today)
    return counter_rises.count(since_boot, of_drives(heat), LIFETIME, today)


def memory_key(module: str, kind: str) -> str:
    """Return the key of a counter of a memory module."""
    return f"memory/{module}/{kind}"


def link_key(end: str, kind: str) -> str:
    """Return the key of a counter of one end of a PCIe link."""
    return f"pcie/{end}/{kind}"


def cpu_key(package: int, kind: str) -> str:
    """Return the key of a counter of the heat of a CPU socket."""
    return f"heat/cpu{package}/{kind}"


def drive_key(serial: str, kind: str) -> str:
    """Return the key of a counter of the heat of a drive."""
    return f"heat/drive/{serial}/{kind}"
