# SPDX-License-Identifier: Apache-2.0
"""systemd for the unit of a job: its start runs what a test says."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from tests.fakes.commands import GOOD, Commands, Result

# What `system/jobs` asks of systemd.
JOBS = (
    "systemctl reset-failed millrace-*.service",
    "systemctl start --no-block millrace-*.service",
    "systemctl show --property=ActiveState,Job millrace-*.service",
    "systemctl show --property=Id,ActiveState,Job millrace-*.service...",
    "journalctl --unit millrace-*.service --identifier=millrace --lines=1 --output=cat",
)


def asks_states(words: Sequence[str]) -> bool:
    """Whether a command line of systemctl, without the tool, asks for states of units of jobs."""
    return words[0] == "show" and words[1].endswith("ActiveState,Job")


def shown(units: Sequence[str], states: Mapping[str, str] = MappingProxyType({})) -> Result:
    """What `systemctl show` says of units; those that are not in `states` are inactive.

    One that is "queued" waits for its start, and systemd has not looked at its conditions yet.
    """
    blocks = (f"Id={unit}\n{_properties(states.get(unit, 'inactive'))}" for unit in units)
    return Result(0, "\n\n".join(blocks) + "\n", "")


def _properties(state: str) -> str:
    return "ActiveState=inactive\nJob=77" if state == "queued" else f"ActiveState={state}\nJob="


class JobManager(Commands):
    """`run` is what the unit of the job does. `states` are those that it has after its start, one for each look; the
    last one stays. `others` are states of other units, which are inactive otherwise. `line` is what the unit printed.
    """

    TAKEN = JOBS

    def __init__(self, unit: str) -> None:
        super().__init__()
        self.unit = unit
        self.run: Callable[[], object] = lambda: None
        self.states = ["inactive"]
        self.others: dict[str, str] = {}
        self.started = False
        self.line = ""

    def _systemctl(self, words: list[str], _: str) -> Result:
        if words[0] == "start":
            self.started = words[-1] == self.unit
            self.run()
        if words[0] != "show":
            return GOOD
        return shown(words[2:], {unit: self._state(unit) for unit in words[2:]})

    def _state(self, unit: str) -> str:
        if unit != self.unit or not self.started:
            return self.others.get(unit, "inactive")
        return self.states.pop(0) if len(self.states) > 1 else self.states[0]

    def _journalctl(self, words: list[str], _: str) -> Result:
        return Result(0, f"millrace: {self.line}\n" if self.line else "", "")
