# SPDX-License-Identifier: Apache-2.0
"""What one line of the whitelist has, and what its levels depend on. Pure."""

from collections.abc import Callable
from dataclasses import dataclass

from millrace.plan.md import DataArrays
from millrace.plan.server import Server
from millrace.plan.settings import Settings
from millrace.tuner.model import Cost

Read = Callable[[Settings], int | None]
Change = Callable[[Settings, int], Settings]


@dataclass(frozen=True)
class Load:
    """What measures: a goal over `smb` from this server, or `clients` over the network."""

    smb: bool = False
    clients: bool = False


@dataclass(frozen=True)
class Facts:
    """What levels depend on: the settings of the plan, and of the kernel before any of them was set, by key."""

    settings: Settings
    server: Server
    arrays: DataArrays
    kernel: dict[str, int]
    load: Load = Load()

    @property
    def pools(self) -> int:
        """The thread pools of nfsd."""
        return self.server.compute_nodes if self.settings.nfsd.pool_mode == "pernode" else 1


@dataclass(frozen=True)
class Entry:
    """One line of the whitelist; `key` is that of the policy.

    `files` are the ends of the paths that it sets, or the command; the first is the one that is read. It has none for
    what only the separate smbd of a measurement gets: nothing of the server is set, and `setting` is what an
    administrator finds it by. `value` of the plan is None where the plan leaves it to the kernel. `default` is the
    kernel's or Samba's, where that is documented. `obstacle` is why it is not tried on this server or by this run.
    """

    key: str
    title: str
    files: tuple[str, ...]
    cost: Cost
    value: Read
    change: Change
    levels: Callable[[Facts], list[int]]
    default: Callable[[Facts], int | None] = lambda _: None
    obstacle: Callable[[Facts], str | None] = lambda _: None
    setting: str = ""


def field(section: str, key: str) -> tuple[Read, Change]:
    """Return what reads and what changes one number of the settings, such as `threads_max` of `nfsd`."""

    def read(of: Settings) -> int | None:
        found = getattr(getattr(of, section), key)
        return None if found is None else int(found)

    def change(of: Settings, value: int) -> Settings:
        return of.model_copy(update={section: getattr(of, section).model_copy(update={key: value})})

    return read, change
