# SPDX-License-Identifier: Apache-2.0
"""Drives of the pool that are far slower than their neighbours, or that answer no request (`health.latency`)."""

from millrace.observe.health import latency
from millrace.observe.health.host import Host
from millrace.observe.health.latency import DriveLatency
from millrace.observe.health.model import HealthFinding, Level
from millrace.system.command import command

NAME = "latency"
SILENT_SECONDS = 20.0
"""Longer than any request takes that a drive carries out."""


def check(host: Host) -> list[HealthFinding]:
    """Return one finding for each drive that is slow or silent; nothing where none is."""
    found = latency.last()
    here = {one.serial for one in host.drives} if found and any(_is_wrong(one) for one in found.drives) else set()
    return [_about(host, one) for one in (found.drives if found else []) if _is_wrong(one) and one.serial in here]


def _is_wrong(one: DriveLatency) -> bool:
    return one.slow or one.silent_seconds >= SILENT_SECONDS


def _about(host: Host, drive: DriveLatency) -> HealthFinding:
    place = host.place(drive.serial)
    title = f"{place[0].upper()}{place[1:]}"
    if drive.silent_seconds >= SILENT_SECONDS:
        sentence = (
            f"{title}: it has answered hardly any request for {drive.silent_seconds:.0f} s; its array waits for it."
        )
        pull = command("millrace drive locate", drive.serial)
        todo = f"If the kernel does not give it up within 2 minutes, pull it: {pull}"
        return HealthFinding(
            check=NAME, kind="silent", subject=drive.serial, level=Level.FAIL, sentence=sentence, todo=todo
        )
    took = f"its {drive.direction} take {_ms(drive.latency_ms)}, those of its neighbours {_ms(drive.neighbours_ms)}"
    sentence = f"{title}: {took} (median); each row of its array waits for it."
    return HealthFinding(
        check=NAME,
        kind="slow",
        subject=drive.serial,
        level=Level.WARN,
        sentence=sentence,
        todo=host.replace(drive.serial),
    )


def _ms(value: float | None) -> str:
    return f"{value or 0.0:.2g} ms" if (value or 0.0) < 10 else f"{value:.0f} ms"
