# SPDX-License-Identifier: Apache-2.0
"""Settings that the plan leaves to the kernel and to drivers until the policy has them.

Where the policy had one in this boot and has it no more, `tune` gives it back: the setting gets what it was before.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from millrace.plan.defaults import BUFFERED, IoSettings, MemberSettings, PortSettings
from millrace.plan.settings import Settings
from millrace.tune.knob import Setting
from millrace.tune.originals import SavedOriginals

LEFT = {
    "members": MemberSettings(requests=0, max_kib=0),
    "io": IoSettings(read=BUFFERED, write=BUFFERED),
    "ports": PortSettings(rx_usecs=0, rx_ring=0, tx_ring=0),
}
# Of the queues, and of what is set after them: a part of the labels of these settings.
RINGS = ("ethtool -G ",)
OTHERS = ("ethtool -C ", "/io_cache_", "/queue/nr_requests", "/queue/max_sectors_kb")


@dataclass(frozen=True)
class GivenBack(Setting):
    """A setting that goes back to what it was before Millrace changed it in this boot."""

    of: Setting
    wanted: str
    reason: str = "as before: the policy does not set it any more"

    @property
    def label(self) -> str:
        """That of the setting."""
        return self.of.label

    @property
    def interrupts(self) -> bool:  # type: ignore[override]
        """Whether setting it interrupts service for a moment."""
        return self.of.interrupts

    def read(self) -> str:
        """Return what is set now. OSError, Failed: there is no such setting."""
        return self.of.read()

    def write(self, value: str) -> None:
        """Set it. OSError, Failed: the kernel or the tool refuses."""
        self.of.write(value)


def with_all(settings: Settings) -> Settings:
    """Return settings in which nothing is left to others, for the names of what may be."""
    return settings.model_copy(update=LEFT)


def given_back(settings: Iterable[Setting], kinds: Sequence[str], every: Callable[[], list[Setting]]) -> list[Setting]:
    """Return those of `every` that are not found any more and were changed in this boot.

    The hardware is asked for `every` only where something of these `kinds` was changed.
    """
    labels = {setting.label for setting in settings}
    originals = SavedOriginals()
    changed = {label for label in originals.labels() if any(kind in label for kind in kinds)} - labels
    if not changed:
        return []
    known = [(setting, originals.original(setting.label)) for setting in every() if setting.label in changed]
    return [GivenBack(setting, value) for setting, value in known if value is not None]
