# SPDX-License-Identifier: Apache-2.0
"""The engine of snapshots on XFS of the image's kernel."""

from typing import Any

from tests.kernel.test_raid456 import Records, named

KIB = 1 << 10
# XFS lists each under a second name to root, and takes it away with the first one.
LISTS = [
    [],
    ["system.posix_acl_access", "trusted.SGI_ACL_FILE"],
    ["system.posix_acl_default", "trusted.SGI_ACL_DEFAULT"],
    [],
]


def test_snapshot_shares_its_blocks_and_changes_nothing_of_the_share(found: Records) -> None:
    quiet: dict[str, Any] = named(found, "a tree that nobody changes")
    assert quiet["equal"] and quiet["shared"] and quiet["project"] == (3 << 30) + 1001
    # a clone that changed the time of change of what it reads would find its own work
    assert quiet["changed"] == []
    assert quiet["bytes"] < 80 * 8 * KIB


def test_access_lists_are_those_of_the_share_and_not_inherited(found: Records) -> None:
    quiet: dict[str, Any] = named(found, "a tree that nobody changes")
    of_share, of_snapshot = quiet["lists"]
    assert (of_share, of_snapshot) == (LISTS, LISTS)


def test_everything_that_clients_change_is_found_and_taken_again(found: Records) -> None:
    changed: dict[str, Any] = named(found, "a tree that clients change")
    # "/" has other names, and what is renamed has a time of change
    assert changed["changed"] == [
        *("/", "d0/a", "d1/a", "d2/", "d2/new", "d3/", "d5/", "d6/", "d6/moved", "d7/", "d9/c", "old/"),
    ]
    assert changed["equal"] and changed["left"] == [] and changed["project"] == (3 << 30) + 1001


def test_snapshot_keeps_what_the_share_loses(found: Records) -> None:
    assert named(found, "a snapshot in its place")["kept"]


def test_comparison_of_what_is_equal_reads_nothing(found: Records) -> None:
    equal = named(found, "a comparison of what is equal")
    assert (equal["differ"], equal["read"]) == (0, 0)


def test_comparison_names_what_clients_did_and_reads_only_blocks_that_are_not_shared(found: Records) -> None:
    compared = named(found, "a comparison of what clients changed")
    differ = {what: [name for kind, name, _ in compared["differ"] if kind == what] for what, *_ in compared["differ"]}
    # d8 has become d7, and d7 has become old: by name, d7 has other files, and two directories are another one
    inner = [["a", "b", "c"], ["d8/", "d8/a", "d8/b", "d8/c"], ["old/", "old/a", "old/b", "old/c"]]
    assert differ["changed"] == ["d0/a", "d1/a", *(f"d7/{name}" for name in inner[0])]
    assert differ["permissions"] == ["d9/c"] and differ["moved"] == ["d6/moved"]
    assert set(differ["removed"]) == {"d3/b", *inner[1]} and set(differ["added"]) == {"d2/new", *inner[2]}
    # one changed behind the same size and time
    assert compared["read"] == 1
