# SPDX-License-Identifier: Apache-2.0
"""How long a network port waits for more packets before it raises an interrupt, through ethtool.

No link goes down for it: the driver changes it while packets flow (ethtool_ops.set_coalesce).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from millrace.inventory.model import Nic
from millrace.plan.defaults import ADAPTIVE, PortSettings
from millrace.system.errors import Failed
from millrace.system.run import Runner
from millrace.tune.ethtool import change, reported
from millrace.tune.knob import Setting


@dataclass(frozen=True)
class Coalescing:
    """Microseconds, or `adaptive` where the driver follows the load now; `can_adapt`: whether it could."""

    now: str
    can_adapt: bool


def coalescing(port: str, run: Runner) -> Coalescing | None:
    """Return what a port has; None where its driver does not report it. Failed: the output cannot be parsed."""
    result = run(["ethtool", "--json", "-c", port])
    if result.status != 0:
        return None

    def made(said: dict[str, Any]) -> Coalescing | None:
        usecs, adaptive = said.get("rx-usecs"), said.get("adaptive-rx")
        if usecs is None and adaptive is None:
            return None
        return Coalescing(ADAPTIVE if adaptive else str(usecs or 0), adaptive is not None)

    return reported(result, f"the coalescing of {port}", made)


@dataclass(frozen=True)
class CoalescingKnob(Setting):
    """The microseconds of one port, or `adaptive`."""

    port: str
    wanted: str
    reason: str
    can_adapt: bool
    run: Runner

    @property
    def label(self) -> str:
        """The command that sets it, without the number."""
        return f"ethtool -C {self.port} rx-usecs"

    def read(self) -> str:
        """Return the microseconds, or `adaptive`. Failed: ethtool does not show them."""
        found = coalescing(self.port, self.run)
        if found is None:
            raise Failed(f"{self.port} does not report its coalescing")
        return found.now

    def write(self, value: str) -> None:
        """Set the microseconds, or let the driver follow the load. Failed: the driver refuses."""
        if value == ADAPTIVE:
            asked = ["adaptive-rx", "on"]
        else:
            asked = [*(["adaptive-rx", "off"] if self.can_adapt else []), "rx-usecs", value]
        change(self.run, "-C", self.port, *asked)


def coalescing_settings(wanted: PortSettings, ports: Sequence[Nic], run: Runner) -> list[Setting]:
    """Return the setting of each port that reports it; none where it is left to the drivers."""
    if wanted.rx_usecs is None:
        return []
    found = {port.name: coalescing(port.name, run) for port in ports}
    return [
        CoalescingKnob(name, str(wanted.rx_usecs), "set by the policy", one.can_adapt, run)
        for name, one in found.items()
        if one is not None
    ]
