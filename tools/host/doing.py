# SPDX-License-Identifier: Apache-2.0
"""What a server that does not serve yet is doing, as the server itself reports it."""

import json
import time
from collections.abc import Callable
from typing import Any

from millrace.system.errors import Failed
from vm.machine import Machine

SECONDS = 5.0
"""Between two questions: an emulated server has better things to do."""
PATIENCE = 20.0
"""Seconds for an answer."""

# On the way to serving, in this order.
UNITS = (
    "millrace-assemble.service",
    "millrace-inventory.service",
    "millrace-plan.service",
    "millrace-provision.service",
    "srv-pool.mount",
    "millrace-pool.service",
    "millrace-share.service",
    "nfs-server.service",
    "millrace-tune.service",
    "smbd.service",
)
# The steps of provisioning while there are any, otherwise the units that are being started. Without the appliance's own
# program, which takes seconds to start there.
QUESTION = (
    "cat /var/lib/millrace/transaction.json 2>/dev/null || "
    f"systemctl list-units --state=activating --output=json {' '.join(UNITS)}"
)


class Doing:
    """The last answer of a server, asked again every few seconds."""

    def __init__(self, machine: Machine, clock: Callable[[], float] = time.monotonic) -> None:
        self._machine = machine
        self._clock = clock
        self._asked = float("-inf")
        self._words = "starting"

    def __call__(self) -> str:
        """Return what the server is doing, in words."""
        if self._clock() - self._asked >= SECONDS:
            self._words = self._ask() or self._words
            self._asked = self._clock()
        return self._words

    def _ask(self) -> str:
        try:
            answer = self._machine.run(QUESTION, seconds=PATIENCE, check=False)
            return in_words(json.loads(answer.out))
        except (Failed, ValueError):
            # A server that is too busy for an answer still does what it said last.
            return ""


def in_words(answer: Any) -> str:
    """Return an answer to QUESTION in words; empty where nothing of it is under way."""
    if isinstance(answer, dict):
        steps = answer["steps"]
        done = [step["name"] for step in steps if step["state"] == "done"]
        current = next((step["name"] for step in steps if step["state"] != "done"), "finishing")
        return f"building the pool, step {min(len(done) + 1, len(steps))} of {len(steps)}: {current}"
    descriptions = {unit["unit"]: unit["description"] for unit in answer}
    return next((descriptions[name] for name in UNITS if name in descriptions), "")
