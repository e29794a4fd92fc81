# SPDX-License-Identifier: Apache-2.0
"""The engine of snapshots on XFS of the image's kernel."""

from typing import Any

from tests.kernel.test_raid456 import Records, named

KIB = 1 << 10


def test_snapshot_shares_its_blocks_and_changes_nothing_of_the_share(found: Records) -> None:
    quiet: dict[str, Any] = named(found, "a tree that nobody changes")
    assert quiet["equal"] and quiet["shared"] and quiet["project"] == (3 << 30) + 1001
    # a clone that changed the time of change of what it reads would find its own work
    assert quiet["changed"] == []
    assert quiet["bytes"] < 80 * 8 * KIB


def test_everything_that_clients_change_is_found_and_taken_again(found: Records) -> None:
    changed: dict[str, Any] = named(found, "a tree that clients change")
    # "/" has other names, and what is renamed has a time of change
    assert changed["changed"] == [
        *("/", "d0/a", "d1/a", "d2/", "d2/new", "d3/", "d5/", "d6/", "d6/moved", "d7/", "d9/c", "old/"),
    ]
    assert changed["equal"] and changed["left"] == [] and changed["project"] == (3 << 30) + 1001


def test_snapshot_keeps_what_the_share_loses(found: Records) -> None:
    assert named(found, "a snapshot in its place")["kept"]
