# SPDX-License-Identifier: Apache-2.0
"""What the checks read, at most once in each run."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from millrace.inventory.model import Drive, DriveState, Inventory
from millrace.inventory.present import present
from millrace.observe.health import heartbeat_client
from millrace.observe.health.model import HealthFinding, Level
from millrace.plan.finding import REPLACE_DRIVE
from millrace.storage.record.model import Pool
from millrace.storage.record.pool_file import known_pool
from millrace.system import net, paths, probes, units
from millrace.system.command import command
from millrace.system.documents import read_model
from millrace.system.errors import Failed, MillraceError
from millrace.system.heartbeat import Heartbeat
from millrace.system.net import Entry, Interface
from millrace.system.run import Result, Runner, last_words, quickly
from millrace.system.web_probe import WebReply, web

if TYPE_CHECKING:
    from millrace.storage.drive.counter_rises import Rises


@dataclass(frozen=True)
class Probes:
    """Probes of a server as its clients use it, at an address; None where it answers, else what happened, in words.

    `web` also returns the certificate that the web console shows.
    """

    nfs: Callable[[str], str | None]
    smb: Callable[[str], str | None]
    web: Callable[[str], WebReply]


REPLACE = "millrace drive replace"

BOOT_SECONDS = 600
"""A boot that takes longer is no excuse any more: systemd says "starting" for as long as one of its jobs hangs."""

PROBES = Probes(probes.nfs, probes.smb, web)


class Host:
    """This server during one run of the checks."""

    def __init__(
        self, run: Runner = quickly, probes: Probes | None = None, uptime: Callable[[], float] = time.monotonic
    ) -> None:
        self._run, self._uptime = run, uptime
        self.probes = probes or PROBES

    @cached_property
    def pool(self) -> Pool | None:
        """The pool that exists. BadInput: neither its file nor an older copy can be parsed."""
        return known_pool()

    @cached_property
    def heartbeat(self) -> Heartbeat:
        """The result of a read and an fsync on the pool, which must be mounted."""
        return heartbeat_client.request(self._run)

    @cached_property
    def drives(self) -> list[Drive]:
        """The drives that the kernel has, from sysfs alone."""
        return present()

    @cached_property
    def rises(self) -> "Rises":
        """On which days the error counters of the hardware rose, as the last SMART readings recorded."""
        from millrace.storage.drive import counter_rises

        return counter_rises.load()

    @cached_property
    def bays(self) -> dict[str, str]:
        """Where each drive is, was at boot, or was when it was last here, by serial."""
        # Needed where something is wrong, and slow to import.
        from millrace.inventory.places import bays
        from millrace.storage.drive import drive_history

        return {one.serial: one.bay for one in drive_history.load().drives if one.bay} | bays()

    def place(self, serial: str) -> str:
        """Return `bay 7 (S6XYZ123)`, or `drive S6XYZ123` where its bay is not known."""
        bay = self.bays.get(serial)
        return f"bay {bay} ({serial})" if bay else f"drive {serial}"

    def shared(self, serials: Sequence[str]) -> str:
        """Return ` (all behind PCIe switch 0000:41:00.0)`; empty where that is not known, or true of every drive."""
        if len(serials) < 2:
            return ""
        try:
            all_drives = read_model(paths.inventory_file(), Inventory).drives
        except MillraceError:
            return ""
        drives = [drive for drive in all_drives if drive.state is not DriveState.BOOT]
        above = {drive.serial: drive.switch for drive in drives}
        switches = {above.get(serial) for serial in serials}
        switch = switches.pop()
        if switches or switch is None or all(drive.switch == switch for drive in drives):
            return ""
        return f" (all behind PCIe switch {switch})"

    @cached_property
    def refilled(self) -> dict[str, str]:
        """The bays of missing drives of the pool in which a blank drive is now, by the serial of the missing one."""
        from millrace.observe.drive.rows import rows
        from millrace.storage.drive.facts import facts

        found = rows(facts())
        # one that is failing has a reason there, and is not proposed
        blank = {one.bay for one in found if one.verdict == "blank" and one.what is None}
        return {one.serial: one.bay for one in found if one.verdict == "missing" and one.bay and one.bay in blank}

    def replace(self, serial: str) -> str:
        """Return the remedy of a drive that is to be replaced, with the command where it is one of the pool."""
        try:
            arrays = self.pool.arrays if self.pool else []
        except MillraceError:
            arrays = []
        ours = {one.serial for array in arrays for one in (*array.members, *array.spares)}
        return f"Replace the drive: {command(REPLACE, serial)}" if serial in ours else REPLACE_DRIVE

    @cached_property
    def interfaces(self) -> list[Entry]:
        """Every interface with its addresses. Failed: iproute2 does not list them."""
        return net.entries(self._run)

    @cached_property
    def uptime(self) -> float:
        """Seconds since this server was started."""
        return self._uptime()

    @cached_property
    def starting(self) -> bool:
        """Whether the boot is still under way: what is missing may still appear. After BOOT_SECONDS it never is."""
        if self.uptime > BOOT_SECONDS:
            return False
        # Without a status: is-system-running exits with 1 for every answer but "running".
        return self._run(["systemctl", "is-system-running"]).out.strip() in ("initializing", "starting")

    def query(self, argv: Sequence[str], stdin: str | None = None) -> Result:
        """Run a tool that only reads; return its output."""
        return self._run(argv)

    @cached_property
    def failed_units(self) -> dict[str, bool]:
        """Names of the units that failed, and whether systemd tries them again. Failed: systemd does not list them."""
        result = self._run(["systemctl", "list-units", "--state=failed,auto-restart", "--output=json"])
        try:
            return {str(unit["unit"]): unit.get("sub") == "auto-restart" for unit in json.loads(result.out)}
        except (ValueError, KeyError, TypeError) as error:
            raise Failed(f"systemctl does not list failed units: {last_words(result)}") from error

    @cached_property
    def ports(self) -> list[Interface]:
        """The ports on which clients reach this server. Failed: they cannot be listed."""
        return net.serving(self.interfaces)

    def active_state(self, unit: str) -> str:
        """Return systemd's ActiveState of a unit. Failed: systemd does not report it."""
        return units.active_state(unit, self._run)

    def absent(self, check: str, sentence: str, todo: str, kind: str = "", subject: str = "") -> HealthFinding:
        """Return a finding of something that is missing: FAIL, or WARN while the boot is under way."""
        if self.starting:
            sentence, level, remedy = f"{sentence} The server is still starting.", Level.WARN, None
        else:
            level, remedy = Level.FAIL, todo
        return HealthFinding(check=check, kind=kind, subject=subject, level=level, sentence=sentence, todo=remedy)
