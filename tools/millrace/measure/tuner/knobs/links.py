# SPDX-License-Identifier: Apache-2.0
"""Network ports whose driver starts again for a change: what is measured begins when clients reach the server again."""

from collections.abc import Mapping
from dataclasses import dataclass

from millrace.system.errors import Failed
from millrace.system.net import Address, entries, serving
from millrace.system.run import Runner
from millrace.system.wait import wait_until

PAUSES = (0.1,) * 20 + (0.5,) * 116
"""Seconds between looks, a minute in all: a port negotiates its link again, and a switch may keep it waiting."""


@dataclass(frozen=True)
class Links:
    """The ports that have a link now, each with its addresses."""

    of: Mapping[str, frozenset[Address]]
    run: Runner

    def wait(self) -> None:
        """Wait until each has its link and its addresses again. Failed: one has not after a minute."""
        missing = wait_until(self._missing, lambda found: not found, PAUSES)
        if missing:
            raise Failed(f"port {missing[0]} has no link or no address a minute later")

    def _missing(self) -> list[str]:
        now = links(self.run).of
        return [name for name, addresses in self.of.items() if not addresses <= now.get(name, frozenset())]


def links(run: Runner) -> Links:
    """Return the ports that have a link. Failed: iproute2 does not list them."""
    of = {one.name: frozenset(one.addresses) for one in serving(entries(run)) if one.carrier}
    return Links(of, run)
