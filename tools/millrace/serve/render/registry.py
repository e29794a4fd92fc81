# SPDX-License-Identifier: Apache-2.0
"""What rooms contribute to the files that are rendered: entries, the services that read them, parts of a change."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from millrace.serve.config.model import Config


@dataclass(frozen=True)
class FileEntry:
    """One file. `path` is below the root, `render` makes the text; where `when` is false the file is to be absent.

    `check` raises Failed for a text that its service would not take; it is called before a changed text is written. A
    file that is not `recorded` is also written by others, or goes with a reboot: an edit by hand is not looked for.
    """

    path: str
    render: Callable[[], str]
    when: bool = True
    mode: int = 0o644
    check: Callable[[str], None] | None = None
    recorded: bool = True
    # A symbolic link, whose target `render` names.
    link: bool = False


@dataclass(frozen=True)
class Settled:
    """The result for entries: `changed` were written or removed, `edited` had been edited by hand.

    Paths below the root. `kept` are those of the edited ones that were left as they are. `reloaded` are units that were
    reloaded, `warnings` what they reported.
    """

    changed: list[str] = field(default_factory=list)
    edited: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    reloaded: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def nothing_to_reload(settled: Settled) -> bool:
    """Reload nothing: the readers read their files each time, or another unit starts them."""
    return False


@dataclass(frozen=True)
class RenderedService:
    """A unit and the entries that it reads, which are written one after the other before it is reloaded once.

    `reload` is called also where none of them changed; it returns whether the unit had to be reloaded.
    """

    unit: str
    entries: Sequence[FileEntry]
    reload: Callable[[Settled], bool] = nothing_to_reload


Say = Callable[[str], None]


def silent(line: str) -> None:
    """Show no progress."""


@dataclass
class Change:
    """A change of the desired state while it is made: what was verified, warned of, and is to be undone if it fails.

    `say` shows a line of progress before a step that may take long.
    """

    old: Config
    new: Config
    verified: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    undo: list[Callable[[], object]] = field(default_factory=list)
    # From here on nothing is put back: what fails is a warning, and the new state is in force.
    final: bool = False
    say: Say = silent

    def on_failure(self, undo: Callable[[], object]) -> None:
        """Call `undo` if the change fails, after the files are rolled back; the last one that was added comes first."""
        self.undo.append(undo)


class RenderPart:
    """What one room contributes to a change. Every step may raise; then all parts are rolled back.

    A part keeps no undo of its own: files are rolled back by rendering the old state, anything else by `on_failure`.
    """

    # Whether files that were edited by hand are replaced (a copy is kept), or left and reported.
    force = True

    def prepare(self, change: Change) -> None:
        """Create everything but files, before any is written: directories, limits, accounts."""

    def services(self, config: Config) -> Sequence[RenderedService]:
        """Return what is to be written for a state, in the order in which services are reloaded."""
        return ()

    def verify(self, change: Change) -> None:
        """Verify the new state on this server; any error rolls the change back."""

    def finish(self, change: Change) -> None:
        """Do what cannot be undone, when every part is verified."""
