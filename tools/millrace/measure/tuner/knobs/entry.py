# SPDX-License-Identifier: Apache-2.0
"""What one line of the whitelist has, and what its levels depend on. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as part

from millrace.measure.tuner.model import Cost, Level
from millrace.plan.md import DataArrays
from millrace.plan.server import Server
from millrace.plan.settings import Settings

Read = Callable[[Settings], Level | None]
Change = Callable[[Settings, Level], Settings]


@dataclass(frozen=True)
class Load:
    """What measures: a goal over `smb` from this server, `clients` over the network; `rebuild`: beside one."""

    smb: bool = False
    clients: bool = False
    rebuild: bool = False


@dataclass(frozen=True)
class LevelFacts:
    """What levels depend on: the settings of the plan, and of the kernel before any of them was set, by key.

    `adaptive`: every network port can adapt its interrupts to the load. `rings`: the longest that every port's driver
    has, by `rx` and `tx`.
    """

    settings: Settings
    server: Server
    arrays: DataArrays
    kernel: dict[str, Level]
    load: Load = Load()
    adaptive: bool = False
    rings: Mapping[str, int] = part(default_factory=dict)

    @property
    def pools(self) -> int:
        """The thread pools of nfsd."""
        return self.server.compute_nodes if self.settings.nfsd.pool_mode == "pernode" else 1


@dataclass(frozen=True)
class WhitelistEntry:
    """One line of the whitelist; `key` is that of the policy.

    `files` are the ends of the paths that it sets, or the command; the first is the one that is read. It has none for
    what only the separate smbd of a measurement gets: nothing of the server is set, and `setting` is what an
    administrator finds it by. `value` of the plan is None where the plan leaves it to the kernel. `default` is the
    kernel's or Samba's, where that is documented. `obstacle` is why it is not tried on this server or by this run.
    `may_refuse`: a driver that reports it may refuse to set it. `reported`: what a device had before Millrace set it is
    the kernel's own.
    """

    key: str
    title: str
    files: tuple[str, ...]
    cost: Cost
    value: Read
    change: Change
    levels: Callable[[LevelFacts], Sequence[Level]]
    default: Callable[[LevelFacts], Level | None] = lambda _: None
    obstacle: Callable[[LevelFacts], str | None] = lambda _: None
    setting: str = ""
    may_refuse: bool = False
    reported: bool = True


def field(section: str, key: str) -> tuple[Read, Change]:
    """Return what reads and what changes one value of the settings, such as `threads_max` of `nfsd`."""

    def read(of: Settings) -> Level | None:
        found: Level | None = getattr(getattr(of, section), key)
        return found

    def change(of: Settings, value: Level) -> Settings:
        return of.model_copy(update={section: getattr(of, section).model_copy(update={key: value})})

    return read, change
