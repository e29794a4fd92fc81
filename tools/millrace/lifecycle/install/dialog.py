# SPDX-License-Identifier: Apache-2.0
"""The installation on a console: the list, the drive, its serial number once more, the result."""

from collections.abc import Callable, Iterable, Iterator

from millrace.lifecycle.install import choice
from millrace.lifecycle.install import text as lines
from millrace.lifecycle.install.model import BootCandidate, Installed, InstallLine, InstallReport, InstallStep
from millrace.system.errors import MillraceError

ASK = "Serial number of the drive to install on (Enter: list the drives again)"
AGAIN = "Type the serial number again to write it (Enter: do not write)"
NEXT = "Remove the installation medium, then press Enter to restart"


class Dialog:
    """One conversation: `report` looks at the drives, `write` writes one, `say` prints a line, `read` asks."""

    def __init__(
        self,
        report: Callable[[], InstallReport],
        write: Callable[[str], Iterator[InstallLine]],
        say: Callable[[str], object],
        read: Callable[[str], str],
    ) -> None:
        self._report = report
        self._write = write
        self._say = say
        self._read = read

    def run(self) -> None:
        """Return when a drive was written and the person wants to restart; errors are shown and the list again."""
        while True:
            report = self._report()
            self._show(["", *lines.report(report), ""])
            serial = self._read(ASK)
            if not serial:
                continue
            try:
                if self._installed(choice.chosen(report.drives, serial)):
                    self._read(NEXT)
                    return
            except MillraceError as error:
                self._say(f"{error}.")

    def _installed(self, drive: BootCandidate) -> bool:
        self._show(lines.before(drive))
        again = self._read(AGAIN)
        if not again:
            return False
        # the serial number typed twice at the console confirms that what the drive holds is lost
        choice.confirm(drive, again, foreign=True)
        for line in self._write(drive.serial):
            if isinstance(line, InstallStep):
                self._say(lines.step(line))
            elif isinstance(line, Installed):
                self._show(lines.done(line))
        return True

    def _show(self, text: Iterable[str]) -> None:
        for line in text:
            self._say(line)
