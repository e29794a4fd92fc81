# SPDX-License-Identifier: Apache-2.0
"""A RAID0 over legs that have grown keeps what it holds, on the image's kernel with its mdadm."""

import pytest

from host.perf.emulator import Image
from tests.kernel.guests import records
from tests.kernel.test_raid456 import Records, named

# by hand: minutes, for what changes with the kernel's or mdadm's RAID0 alone
pytestmark = pytest.mark.soak

MIB = 1 << 20
FULL = 3 * 2 * 44 * MIB
"""What three legs of two drives' worth of data gain, 4 MiB to 48 MiB of each drive."""


@pytest.fixture(scope="module")
def found(image: Image) -> Records:
    """What a guest of its own found."""
    return records(image, {"work": ["grown_legs"]})


@pytest.mark.parametrize(
    "case",
    [
        "one leg grown, array runs",
        "one leg grown, restart",
        "all legs grown, restart of an earlier version",
    ],
)
def test_array_stays_as_it_is_until_its_superblocks_have_the_new_sizes(found: Records, case: str) -> None:
    one = named(found, case)
    assert (one["starts"], one["gain"], one["equal"]) == (True, 0, True)


@pytest.mark.parametrize(
    "case",
    [
        "all superblocks",
        "all superblocks, restart of an earlier version",
        "a drive of one leg dead",
        "1 of 3 superblocks, the next start",
        "2 of 3 superblocks, the next start",
    ],
)
def test_array_uses_all_of_its_legs_and_its_content_stays(found: Records, case: str) -> None:
    one = named(found, case)
    assert (one["starts"], one["gain"], one["equal"]) == (True, FULL, True)


@pytest.mark.parametrize("written", [1, 2])
def test_earlier_version_starts_an_array_whose_superblocks_were_cut_short(found: Records, written: int) -> None:
    one = named(found, f"{written} of 3 superblocks, an earlier version")
    assert (one["starts"], one["gain"], one["equal"]) == (True, written * FULL // 3, True)


def test_files_of_a_raid60_stay_through_the_growth_and_fill_the_new_part(found: Records) -> None:
    one = named(found, "files of a RAID60 with an external log")
    assert one["kept"] == [True] * 4
    assert one["same"] and one["gain"] > 1.8
