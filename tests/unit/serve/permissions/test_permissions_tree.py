# SPDX-License-Identifier: Apache-2.0
"""Permissions of a tree that clients write: all of it, and nothing outside of it."""

import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from millrace.serve.clone import clone_tree
from millrace.serve.permissions import permissions_tree
from millrace.serve.permissions.permissions_tree import PermissionsTally, PermissionsWalk
from millrace.serve.share.permissions import AccessRule
from millrace.system import posix_acl
from tests.fakes.deep import deep

ALL, MEMBERS, SOME, OWN = (
    AccessRule(0o777, 0o777),
    AccessRule(0o2770, 0o770),
    AccessRule(0o2775, 0o775),
    AccessRule(0o1777, None),
)
# only root gives a file away
LAB = 2010 if os.getuid() == 0 else os.getgid()


@contextmanager
def opened(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def walk(top: Path, rule: AccessRule, gid: int | None = None, applies: bool = True) -> PermissionsTally:
    with opened(top) as descriptor:
        return PermissionsWalk(descriptor, rule, gid, applies).run(2, lambda tally: None)


def mode(path: Path) -> int:
    return path.lstat().st_mode & 0o7777


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A directory of lena's with a file, a program, and a file with a list of its own."""
    top = tmp_path / "share"
    (top / "lena/deep").mkdir(parents=True, mode=0o755)
    for name, bits in (("notes", 0o600), ("tool", 0o4750), ("deep/model", 0o444)):
        path = top / "lena" / name
        path.touch()
        path.chmod(bits)
    posix_acl.write(str(top / "lena/notes"), posix_acl.ACCESS, posix_acl.encode(0o640))
    return top


@pytest.mark.parametrize(
    ("rule", "gid", "directory", "file", "program"),
    [
        (ALL, None, 0o777, 0o666, 0o777),
        (MEMBERS, LAB, 0o2770, 0o660, 0o770),
        (SOME, LAB, 0o2775, 0o664, 0o775),
        (OWN, None, 0o755, 0o444, 0o750),
    ],
)
def test_everything_gets_what_new_entries_get(
    tree: Path, rule: AccessRule, gid: int | None, directory: int, file: int, program: int
) -> None:
    tally = walk(tree, rule, gid)
    assert tally.entries == 5
    # a program stays one, and loses the identity of its owner
    assert [mode(tree / "lena" / name) for name in ("deep", "deep/model", "tool")] == [directory, file, program]
    default = None if rule.default is None else posix_acl.encode(rule.default)
    for path in (tree / "lena", tree / "lena/deep"):
        assert posix_acl.read(str(path), posix_acl.DEFAULT) == default
        assert path.stat().st_gid == (path.parent.parent.stat().st_gid if gid is None else LAB)
    assert walk(tree, rule, gid).differ == 0


def listed_file(path: Path, group: int, mask: int) -> Path:
    """A file of its owner that a list lets another user read."""
    path.touch(0o600)
    entries = ((0x01, 6, -1), (0x02, 4, 1002), (0x04, group, -1), (0x10, mask, -1), (0x20, 0, -1))
    packed = b"".join(struct.pack("<HHI", tag, bits, number & 0xFFFFFFFF) for tag, bits, number in entries)
    posix_acl.write(str(path), posix_acl.ACCESS, struct.pack("<I", 2) + packed)
    return path


@pytest.mark.parametrize(("group", "mask", "left"), [(0, 4, 0o600), (6, 4, 0o640), (4, 0, 0o600), (4, 6, 0o640)])
def test_mask_of_a_list_is_not_what_the_group_may_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, group: int, mask: int, left: int
) -> None:
    path = listed_file(tmp_path / "private", group, mask)
    between: list[int] = []
    write = posix_acl.write

    def removed(place: str, name: str, value: bytes | None) -> None:
        write(place, name, value)
        between.append(mode(path))

    monkeypatch.setattr(posix_acl, "write", removed)
    assert walk(tmp_path, OWN).differ == 1
    assert mode(path) == left and posix_acl.read(str(path), posix_acl.ACCESS) is None
    assert between and all(bits & 0o070 & ~left == 0 for bits in between)


def test_inspection_changes_nothing(tree: Path) -> None:
    before = {path: path.lstat() for path in tree.rglob("*")}
    tally = walk(tree, MEMBERS, LAB, applies=False)
    assert (tally.entries, tally.differ) == (5, 5)
    assert {path: path.lstat() for path in tree.rglob("*")} == before


def test_nothing_outside_is_changed(tree: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o700)
    for name in ("shadow", "linked"):
        (outside / name).touch()
        (outside / name).chmod(0o600)
    (tree / "lena/shadow").symlink_to(outside / "shadow")
    (tree / "lena/outside").symlink_to(outside)
    os.link(outside / "linked", tree / "lena/linked")
    os.mkfifo(tree / "lena/pipe", 0o600)
    tally = walk(tree, ALL)
    assert (tally.linked, tally.differ) == (1, 5)
    assert [mode(path) for path in (outside, outside / "shadow", outside / "linked")] == [0o700, 0o600, 0o600]
    assert mode(tree / "lena/pipe") == 0o600


@pytest.mark.parametrize("directory", [True, False])
def test_entry_that_becomes_a_link_during_the_walk_is_not_followed(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, directory: bool
) -> None:
    victim = tmp_path / "victim"
    victim.mkdir(mode=0o700)
    (victim / "secret").touch()
    (victim / "secret").chmod(0o600)
    name = "deep" if directory else "notes"
    list_entries = permissions_tree.entries

    def listed(descriptor: int) -> Iterator[tuple[str, os.stat_result]]:
        for entry, status in list_entries(descriptor):
            if entry == name:
                place = tree / "lena" / name
                place.rename(tmp_path / "away")
                place.symlink_to(victim if directory else victim / "secret")
            yield entry, status

    monkeypatch.setattr(permissions_tree, "entries", listed)
    walk(tree, ALL)
    assert (mode(victim), mode(victim / "secret")) == (0o700, 0o600)


def test_file_that_nobody_can_change_is_counted(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(place: str, bits: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "chmod", refuse)
    assert walk(tree, ALL).refused == 5


def test_what_is_deep_is_walked_as_well(tree: Path) -> None:
    with deep(tree / "lena", 4200), opened(tree) as descriptor:
        entries = walk(tree, ALL).entries
        assert clone_tree.count(descriptor, 2, lambda tally: None).entries == entries + 1 > 4200


def test_walk_ends_when_it_is_stopped(tree: Path) -> None:
    def stop(tally: PermissionsTally) -> None:
        raise KeyboardInterrupt

    with opened(tree) as descriptor, pytest.raises(KeyboardInterrupt):
        PermissionsWalk(descriptor, ALL, None, applies=True).run(2, stop)
