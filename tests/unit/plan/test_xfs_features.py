# SPDX-License-Identifier: Apache-2.0
"""The features of XFS have the names of mkfs.xfs and the bits of the kernel."""

import pytest

from millrace.plan import xfs_features
from millrace.plan.xfs_features import FEATURES, NAMES, clauses, missing, missing_in, options, remedy
from tests.fakes.xfs import V5, V5_OF_6_1

# xfs_db 7.2 of what mkfs.xfs 7.2.0 makes
SUPERBLOCK = {"versionnum": "0xb4b5", "features_ro_compat": "0xf", "features_incompat": "0xeb"}


def test_each_feature_has_its_group_of_options() -> None:
    assert options(NAMES, "-m") == ["crc=1", "finobt=1", "inobtcount=1", "rmapbt=1", "reflink=1", "bigtime=1"]
    assert options(NAMES, "-i") == ["sparse=1", "nrext64=1", "exchange=1"]
    assert options(NAMES, "-n") == ["ftype=1", "parent=1"]
    assert options(["parent"], "-m") == []
    assert sum(len(options(NAMES, one)) for one in ("-m", "-i", "-n")) == len(FEATURES)


def test_pool_of_this_version_lacks_nothing() -> None:
    assert missing(V5) == [] == clauses(V5)
    assert missing_in(SUPERBLOCK, NAMES) == []


@pytest.mark.parametrize("feature", FEATURES, ids=NAMES)
def test_each_feature_has_a_bit_of_its_own(feature: xfs_features.Feature) -> None:
    assert missing(V5 & ~feature.geometry) == [feature]
    key, bits = feature.superblock
    held = {**SUPERBLOCK, key: hex(int(SUPERBLOCK[key], 0) & ~bits)}
    assert missing_in(held, NAMES) == [feature.name]
    assert feature.without in clauses(V5 & ~feature.geometry)[0]


def test_superblock_that_cannot_be_read_has_nothing() -> None:
    assert missing_in({}, NAMES) == NAMES
    assert missing_in({}, []) == []


def test_flags_that_are_not_known_lack_nothing() -> None:
    assert clauses(None) == []


def test_remedy_is_that_of_the_missing_features() -> None:
    assert "xfs_admin" not in remedy(missing(V5 & ~(1 << 25)))
    assert remedy(missing(V5_OF_6_1)).startswith("Only a pool that Millrace creates has parent: ")
    only_later = remedy(missing(V5 & ~(1 << 21 | 1 << 23)))
    assert only_later.startswith(
        "While the pool is not mounted, xfs_admin -O bigtime=1,nrext64=1 adds bigtime,nrext64."
    )
