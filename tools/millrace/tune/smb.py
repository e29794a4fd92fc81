# SPDX-License-Identifier: Apache-2.0
"""CPUs and memory of smbd: a drop-in of this boot, since ports may move to another slot before the next.

Samba has no setting of its own for this; the processes of all clients inherit it from the first.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from millrace.inventory.cpus import ranges
from millrace.inventory.model import Nic
from millrace.plan.ports import Core, smb_cpus
from millrace.system import paths
from millrace.system.errors import Failed
from millrace.system.files import write_text
from millrace.system.run import Runner
from millrace.tune.knob import Setting

DROP_IN = "run/systemd/system/smbd.service.d/50-millrace-numa.conf"
NONE = "none"
HEAD = "# Written by `millrace tune`: all data ports with a link are on one of several sockets.\n[Service]\n"


@dataclass(frozen=True)
class DropInKnob(Setting):
    """The lines of the drop-in with blanks between, or `none`. smbd itself is never restarted."""

    wanted: str
    reason: str
    run: Runner
    default: str | None = NONE

    @property
    def label(self) -> str:
        """The path of the drop-in."""
        return str(paths.ROOT / DROP_IN)

    def read(self) -> str:
        """Return the directives of the drop-in, or `none` where there is no such file."""
        try:
            lines = (paths.ROOT / DROP_IN).read_text().splitlines()
        except FileNotFoundError:
            return NONE
        return " ".join(line for line in lines if "=" in line) or NONE

    def write(self, value: str) -> None:
        """Write the drop-in and reload systemd, or neither: a drop-in that systemd has not read would count as set.

        Failed: systemd does not reload.
        """
        before = self.read()
        _write_drop_in(value)
        result = self.run(["systemctl", "daemon-reload"])
        if result.status != 0:
            _write_drop_in(before)
            raise Failed(f"systemctl daemon-reload failed with status {result.status}")

    def follow_up(self) -> str | None:
        """Name the restart of smbd that the drop-in waits for; None while smbd does not run."""
        if self.run(["systemctl", "is-active", "--quiet", "smbd.service"]).status != 0:
            return None
        return "the CPU affinity of smbd changes when it is restarted: systemctl restart smbd.service"


def smb_settings(ports: Sequence[Nic], cores: Sequence[Core], run: Runner) -> list[Setting]:
    """Return smbd's place: the socket of its ports, where that is one of several."""
    linked = [port for port in ports if port.carrier]
    cpus = smb_cpus(linked, cores)
    if cpus is None:
        return [DropInKnob(NONE, "the data ports are not all on one of several sockets", run)]
    wanted = f"CPUAffinity={ranges(sorted(cpus))} NUMAPolicy=local"
    return [DropInKnob(wanted, "all data ports with a link are on this socket; avoids copies between sockets", run)]


def _write_drop_in(value: str) -> None:
    path = paths.ROOT / DROP_IN
    if value == NONE:
        path.unlink(missing_ok=True)
    else:
        write_text(path, HEAD + "".join(f"{line}\n" for line in value.split()))
