# SPDX-License-Identifier: Apache-2.0
"""What lies on a device is named, and what cannot be named is not taken for blank."""

import pytest

from millrace.storage.array.signature import describe, signature
from millrace.system.errors import Failed
from millrace.system.run import Result
from tests.fakes.drives.world import World


def probed(world: World, answer: Result) -> World:
    """A server on which blkid answers the same for every device."""
    world.broken["blkid"] = answer
    return world


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ({"TYPE": "xfs", "LABEL": "millrace", "UUID": "1"}, "xfs (millrace)"),
        ({"TYPE": "xfs", "UUID": "1-2"}, "xfs (1-2)"),
        ({"TYPE": "LVM2_member"}, "LVM2_member"),
        ({"PTTYPE": "gpt"}, "gpt partition table"),
        ({"PTTYPE": "dos", "LABEL": "", "UUID": "ab"}, "dos partition table (ab)"),
    ],
)
def test_content_is_named_by_its_kind_and_its_own_name(found: dict[str, str], words: str) -> None:
    assert describe(found) == words


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (Result(2, "", ""), {}),
        (Result(8, "", ""), {"TYPE": "more than one kind of content"}),
        (Result(0, "DEVNAME=/dev/sda\nTYPE=xfs\nUUID=1\n", ""), {"TYPE": "xfs", "UUID": "1"}),
        (Result(0, "PTTYPE=gpt\n", ""), {"PTTYPE": "gpt"}),
        (Result(0, "DEVNAME=/dev/sda1\nPART_ENTRY_UUID=1\n", ""), {}),
    ],
)
def test_what_blkid_found_is_kept_without_what_it_says_of_the_device(
    world: World, answer: Result, found: dict[str, str]
) -> None:
    system = probed(world, answer)
    assert signature(system, "/dev/sda") == found
    assert system.calls == [["blkid", "-p", "-o", "export", "/dev/sda"]]


def test_a_part_of_a_device_is_probed_by_its_bytes(world: World) -> None:
    system = probed(world, Result(2, "", ""))
    assert signature(system, "/dev/sda", 1024, 4096) == {}
    assert system.calls[0][4:] == ["--offset", "1024", "--size", "4096", "/dev/sda"]


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (Result(2, "", "error: /dev/sda: No such file or directory\n"), "error: /dev/sda: No such file or directory"),
        (Result(4, "", ""), "status 4"),
        (Result(0, "VERSION=1\n", ""), "status 0"),
    ],
)
def test_what_cannot_be_probed_is_not_blank(world: World, answer: Result, problem: str) -> None:
    with pytest.raises(Failed) as why:
        signature(probed(world, answer), "/dev/sda")
    assert str(why.value) == f"/dev/sda cannot be probed ({problem}); nothing was written"
