# SPDX-License-Identifier: Apache-2.0
"""The features of XFS that Millrace needs: how mkfs.xfs, a superblock and a mounted file system name each.

xfsprogs 7.2 turns all of them on by default; another version, or the mkfs.xfs of another system, need not, and only
few can be added to a file system later. So each is named for mkfs.xfs and verified after it, and health reports what a
pool was made without.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

INODE = 512
"""Bytes of an inode, named for mkfs.xfs as well: attributes and parent pointers of most files fit into it."""


@dataclass(frozen=True)
class Feature:
    """One feature. `name` is that of mkfs.xfs and xfs_info, `option` the group of options that it belongs to.

    `geometry` is XFS_FSOP_GEOM_FLAGS_* of a mounted file system, `superblock` a field of xfs_db with the bits that it
    has. `without` is what a pool without it lacks, a clause. `added` is whether xfs_admin -O can add it.
    """

    name: str
    option: str
    geometry: int
    superblock: tuple[str, int]
    without: str
    added: bool = False


_RO, _INCOMPAT = "features_ro_compat", "features_incompat"
_SEARCHED = "names of damaged files are searched by reading every directory, for 10 minutes at most"

# kernel 7.2: libxfs/xfs_fs.h XFS_FSOP_GEOM_FLAGS_*, libxfs/xfs_format.h XFS_SB_VERSION_5, XFS_SB_FEAT_*
FEATURES: Sequence[Feature] = (
    Feature("crc", "-m", 1 << 15, ("versionnum", 5), "damaged metadata is not recognized"),
    Feature("finobt", "-m", 1 << 17, (_RO, 1 << 0), "creating files slows down as the pool fills"),
    Feature("inobtcount", "-m", 1 << 22, (_RO, 1 << 3), "mounting takes longer", added=True),
    Feature("rmapbt", "-m", 1 << 19, (_RO, 1 << 1), "damaged files cannot be named, and lost areas cannot be retired"),
    Feature("reflink", "-m", 1 << 20, (_RO, 1 << 2), "shares and volumes cannot be cloned, lost areas not retired"),
    Feature("bigtime", "-m", 1 << 21, (_INCOMPAT, 1 << 3), "times of files end in 2038", added=True),
    Feature("sparse", "-i", 1 << 18, (_INCOMPAT, 1 << 1), "creating files fails while free space is in small pieces"),
    Feature("nrext64", "-i", 1 << 23, (_INCOMPAT, 1 << 5), "a file has 2³¹ extents at most", added=True),
    Feature("exchange", "-i", 1 << 24, (_INCOMPAT, 1 << 6), "xfs_scrub cannot repair directories", added=True),
    Feature("ftype", "-n", 1 << 16, (_INCOMPAT, 1 << 0), "listing a directory reads every inode"),
    Feature("parent", "-n", 1 << 25, (_INCOMPAT, 1 << 7), _SEARCHED),
)

NAMES = [one.name for one in FEATURES]


def options(wanted: Sequence[str], option: str) -> list[str]:
    """Return the words of mkfs.xfs that turn on what is wanted of one group of options."""
    return [f"{one.name}=1" for one in FEATURES if one.option == option and one.name in wanted]


def missing(flags: int) -> list[Feature]:
    """Return what a mounted file system with these XFS_FSOP_GEOM_FLAGS_* was made without."""
    return [one for one in FEATURES if not flags & one.geometry]


def missing_in(superblock: Mapping[str, str], wanted: Sequence[str]) -> list[str]:
    """Return what is wanted and not in a superblock, as `xfs_db -c "sb 0" -c print` shows it."""
    return [one.name for one in FEATURES if one.name in wanted and not _is_in(superblock, one)]


def _is_in(superblock: Mapping[str, str], feature: Feature) -> bool:
    key, bits = feature.superblock
    try:
        value = int(superblock.get(key, ""), 0)
    except ValueError:
        return False
    # the version is a number in the lowest four bits
    return value & 0xF == bits if key == "versionnum" else bool(value & bits)


def clauses(flags: int | None) -> list[str]:
    """Return what a mounted file system with these flags lacks, a clause each; none where they are not known."""
    return [] if flags is None else [f"without {one.name}: {one.without}" for one in missing(flags)]


def remedy(missing: Sequence[Feature]) -> str:
    """Return what an administrator can do about it."""
    new = ", ".join(one.name for one in missing if not one.added)
    later = ",".join(f"{one.name}=1" for one in missing if one.added)
    known = "Acknowledge it: millrace alert ack filesystem/features"
    made = f"Only a pool that Millrace creates has {new}: copy the data to one on occasion" if new else ""
    changed = f"while the pool is not mounted, xfs_admin -O {later} adds {later.replace('=1', '')}" if later else ""
    return ". ".join(f"{one[0].upper()}{one[1:]}" for one in (made, changed, known) if one)
