# SPDX-License-Identifier: Apache-2.0
"""`millrace drive replace` follows the unit to its end, and says why it ended early."""

from collections.abc import Callable
from pathlib import Path

import pytest

from millrace.storage.change import change_follow
from millrace.storage.record.change_journal import ChangeJournal
from millrace.system import paths
from millrace.system.errors import Failed
from millrace.system.run import Result
from tests.fakes.commands import GOOD
from tests.fakes.drives.world import World
from tests.unit.storage.change.test_change_text import AT, plan
from tests.unit.storage.conftest import root, world

__all__ = ["root", "world"]


class Manager(World):
    """systemd, with a unit that does one thing at each wait."""

    TAKEN = (
        f"systemctl reset-failed {change_follow.UNIT}",
        f"systemctl start --no-block {change_follow.UNIT}",
        f"systemctl show --property=ActiveState,Job {change_follow.UNIT}",
    )

    def __init__(self, world: World, acts: list[Callable[[], None]]) -> None:
        super().__init__(world.disks, world.proposal, world.writable)
        self.acts = acts

    def _systemctl(self, words: list[str], _: str) -> Result:
        if words[0] != "show":
            return GOOD
        return Result(0, f"ActiveState={'active' if self.acts else 'inactive'}\nJob=\n", "")

    def wait(self, seconds: float) -> None:
        self.acts.pop(0)()


@pytest.fixture
def journal(root: Path) -> ChangeJournal:
    return ChangeJournal.open(plan(), "admin", AT)


def test_steps_are_shown_until_the_end(world: World, journal: ChangeJournal) -> None:
    def mark(name: str) -> Callable[[], None]:
        return lambda: journal.done(name)

    acts = [mark(step.name) for step in journal.steps]
    manager = Manager(world, [*acts, lambda: journal.end(AT)])
    shown = list(change_follow.start_and_follow(manager, journal.change))
    names = ["partition NEW", "join log", "join data", "rebuild log", "rebuild data", "record"]
    assert [one.step for one in shown] == [*names, None, None]
    assert [one.done for one in shown] == [*range(7), 6]
    assert shown[-1].change.ended == AT
    assert manager.called("systemctl") == [
        f"systemctl reset-failed {change_follow.UNIT}",
        f"systemctl start --no-block {change_follow.UNIT}",
        *[f"systemctl show --property=ActiveState,Job {change_follow.UNIT}"] * 8,
    ]


@pytest.mark.parametrize("ended", [True, False])
def test_error_of_the_change_is_the_error_of_the_command(world: World, journal: ChangeJournal, ended: bool) -> None:
    def stop() -> None:
        journal.end(AT, "the drive is gone") if ended else journal.stopped("the drive is gone")

    with pytest.raises(Failed, match="the drive is gone"):
        list(change_follow.start_and_follow(Manager(world, [stop]), journal.change))


def test_unit_that_ends_without_a_word_is_named(world: World, journal: ChangeJournal) -> None:
    with pytest.raises(Failed, match=r"millrace-drive\.service ended before the change was done"):
        list(change_follow.start_and_follow(Manager(world, []), journal.change))


def test_change_that_gave_way_to_another_is_not_followed(world: World, journal: ChangeJournal) -> None:
    other = journal.change.model_copy(update={"id": "other"})
    with pytest.raises(Failed, match="another change has taken the place of this one"):
        list(change_follow.start_and_follow(Manager(world, [lambda: None]), other))
    paths.drive_change_file().unlink()
    with pytest.raises(Failed, match="another change"):
        list(change_follow.start_and_follow(Manager(world, [lambda: None]), journal.change))
