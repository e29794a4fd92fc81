# SPDX-License-Identifier: Apache-2.0
"""Findings of blkid, wipefs and mdadm on a device. Every result that is not a known `nothing` counts as content."""

import json
import re
from pathlib import Path

from millrace.inventory.probe_result import ProbeFinding, failed, found
from millrace.system.run import Result, Runner, last_words

# Exit states of blkid, see blkid(8). A device that cannot be opened is 2 as well: blkid alone proves nothing.
BLKID_FOUND, BLKID_NOTHING, BLKID_AMBIVALENT = 0, 2, 8
MDADM_NOTHING = re.compile(r"mdadm: No md superblock detected on \S+")

TABLES = {"gpt": "GPT partition table", "dos": "MBR partition table", "PMBR": "protective MBR of a GPT"}
CONTENTS = {
    "ext2": "ext2 file system",
    "ext3": "ext3 file system",
    "ext4": "ext4 file system",
    "xfs": "XFS file system",
    "btrfs": "btrfs file system",
    "vfat": "FAT file system",
    "swap": "swap area",
    "linux_raid_member": "Linux md RAID member",
    "LVM2_member": "LVM physical volume",
    "zfs_member": "ZFS pool member",
    "crypto_LUKS": "LUKS encrypted volume",
    "isw_raid_member": "Intel firmware RAID member",
    "ddf_raid_member": "DDF firmware RAID member",
}


def in_words(kind: str) -> str:
    """Return the content that blkid and wipefs have a short word for."""
    return TABLES.get(kind) or CONTENTS.get(kind) or f"{kind} signature"


def blkid(device: Path, run: Runner) -> list[ProbeFinding]:
    """Probe superblocks and partition tables with blkid's low-level probe."""
    result = run(["blkid", "-p", "-o", "export", str(device)])
    if result.status == BLKID_NOTHING and not result.out.strip() and not result.err.strip():
        return []
    if result.status == BLKID_AMBIVALENT:
        return [found("blkid", "several contradicting signatures")]
    if result.status != BLKID_FOUND:
        return [failed("blkid", _failure(result))]
    says = dict(line.split("=", 1) for line in result.out.splitlines() if "=" in line)
    parts = [in_words(says[key]) for key in ("PTTYPE", "TYPE") if key in says]
    return [found("blkid", f"{' and '.join(parts)}{_details(says)}" if parts else "a signature without a type")]


def _details(says: dict[str, str]) -> str:
    shown = {"VERSION": "version", "LABEL": "label", "UUID": "UUID"}
    details = [f"{word} {_unescape(says[key])}" for key, word in shown.items() if says.get(key)]
    return f" ({', '.join(details)})" if details else ""


def _unescape(value: str) -> str:
    """blkid writes its values for a shell."""
    return re.sub(r"\\(.)", r"\1", value)


def wipefs(device: Path, run: Runner) -> list[ProbeFinding]:
    """Find every signature at every place, also those that contradict each other."""
    result = run(["wipefs", "--no-act", "--json", str(device)])
    if result.status != 0 or result.err.strip():
        return [failed("wipefs", _failure(result))]
    try:
        places: dict[str, list[int]] = {}
        for signature in json.loads(result.out)["signatures"]:
            places.setdefault(in_words(signature["type"]), []).append(int(signature["offset"], 16))
    except (ValueError, KeyError, TypeError, RecursionError):
        return [failed("wipefs", "the reply could not be parsed")]
    return [found("wipefs", f"{what} at byte {_in_short(offsets)}") for what, offsets in places.items()]


def _in_short(offsets: list[int]) -> str:
    """A ZFS label alone can be 128 signatures."""
    return f"{offsets[0]}" + (f" and {len(offsets) - 1} more" if len(offsets) > 1 else "")


def mdadm(device: Path, run: Runner) -> list[ProbeFinding]:
    """Find md superblocks of every version, and the firmware RAIDs that mdadm knows."""
    result = run(["mdadm", "--examine", str(device)])
    if result.status == 1 and MDADM_NOTHING.fullmatch(result.err.strip()) and not result.out.strip():
        return []
    if result.status != 0:
        return [failed("mdadm", _failure(result))]
    lines = (line.partition(" : ") for line in result.out.splitlines())
    fields = {key.strip(): value.strip() for key, _, value in lines if value}
    if "Version" in fields:
        level = fields.get("Raid Level", "no level")
        name = f", array {fields['Name'].split()[0]}" if fields.get("Name") else ""
        uuid = f", UUID {fields['Array UUID']}" if fields.get("Array UUID") else ""
        return [found("mdadm", f"md superblock, metadata {fields['Version']}, {level}{name}{uuid}")]
    if "MBR Magic" in fields:
        return [found("mdadm", "MBR boot sector")]
    return [found("mdadm", "RAID metadata")]


def _failure(result: Result) -> str:
    return f"failed with status {result.status}: {last_words(result)}"
