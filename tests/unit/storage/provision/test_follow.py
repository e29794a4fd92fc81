# SPDX-License-Identifier: Apache-2.0
"""`millrace approve` shows the steps and ends when the pool exists, or says why there will be none."""

from collections.abc import Callable

import pytest

from millrace.storage.provision import follow
from millrace.storage.record.identity import new_transaction
from millrace.storage.record.journal import Journal
from millrace.system import paths
from millrace.system.errors import Failed
from millrace.system.files import write_text
from millrace.system.run import Result
from tests.fakes.commands import GOOD
from tests.fakes.drives.world import World
from tests.unit.storage.plans import raid6_plan


class Manager(World):
    """systemd, with a unit that does one thing at each wait."""

    TAKEN = (
        f"journalctl --unit {follow.UNIT} ...",
        f"systemctl show --property=ActiveState,Job {follow.UNIT}",
        f"systemctl start --no-block {follow.UNIT}",
        f"systemctl restart --no-block {follow.UNIT}",
    )

    def __init__(self, world: World, acts: list[Callable[[], None]], state: str = "inactive") -> None:
        super().__init__(world.disks, world.proposal, world.writable)
        self.acts = acts
        self.state = state

    def _journalctl(self, words: list[str], _: str) -> Result:
        return Result(0, "millrace: drive D1 is not blank\n", "")

    def _systemctl(self, words: list[str], _: str) -> Result:
        if words[0] == "show":
            return Result(0, f"ActiveState={self.state}\nJob={'7' if self.acts else ''}\n", "")
        return GOOD

    def wait(self, seconds: float) -> None:
        self.acts.pop(0)()


def begin(journal: Journal) -> None:
    Journal.open(journal.transaction)


def finish() -> None:
    write_text(paths.pool_file(), "{}")


def test_progress_is_shown_until_the_pool_exists(world: World) -> None:
    journal = Journal(new_transaction(raid6_plan(), world.now()))
    acts = [
        lambda: begin(journal),
        lambda: journal.done("partition D0"),
        finish,
    ]
    shown = list(follow.start_and_follow(Manager(world, acts)))
    assert [(now.done, now.total, now.step) for now in shown] == [(0, 9, "partition D0"), (1, 9, "partition D1")]


def test_a_unit_that_ends_without_a_pool_is_an_error_with_its_last_words(world: World) -> None:
    with pytest.raises(Failed, match="drive D1 is not blank"):
        list(follow.start_and_follow(Manager(world, [], state="failed")))


@pytest.mark.parametrize(("state", "verb"), [("inactive", "start"), ("active", "restart")])
def test_a_unit_that_stayed_active_is_started_again(world: World, state: str, verb: str) -> None:
    manager = Manager(world, [finish], state)
    assert list(follow.start_and_follow(manager)) == []
    assert ["systemctl", verb, "--no-block", follow.UNIT] in manager.calls
