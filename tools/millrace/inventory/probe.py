# SPDX-License-Identifier: Apache-2.0
"""Is a drive blank? Only if every probe succeeded and every probe found nothing."""

from pathlib import Path

from millrace.inventory import signatures, udev
from millrace.inventory.drives import DriveVerdict, size
from millrace.inventory.model import DriveState, Evidence
from millrace.inventory.partitions import Partition, are_ours, partitions
from millrace.inventory.probe_result import ProbeFinding, SurfaceReader, found
from millrace.inventory.surface import surface
from millrace.system import sysfs
from millrace.system.run import Runner, within

TIMEOUT = 60  # seconds; a healthy drive answers in less than one
# A probe that hangs or is missing has a status of its own, which no probe takes for `nothing`.
run_tool = within(TIMEOUT)


OURS = "Millrace partition"
"""How the evidence of a drive with partitions of a pool begins."""


def probe(drive: Path, devices: Path, run: Runner, read: SurfaceReader = surface) -> DriveVerdict:
    """Return the state of one drive that does not carry the running system.

    `drive` is its sysfs directory, `devices` the directory of device nodes (/dev). `read` probes its first and last
    bytes, or returns what a capture has of them.
    """
    present = partitions(drive)
    if are_ours(present):
        labels = ", ".join(partition.label for partition in present)
        ours = Evidence(probe="partitions", finding=f"{OURS} {labels}")
        return DriveVerdict(DriveState.OURS, [ours, *_md_members(present, devices.parent)])
    node = devices / drive.name
    findings = [
        *_in_kernel(drive, present),
        *_in_partitions(present, devices, run),
        *signatures.blkid(node, run),
        *signatures.wipefs(node, run),
        *signatures.mdadm(node, run),
        *read(node, size(drive)),
    ]
    return judge(findings)


def judge(findings: list[ProbeFinding]) -> DriveVerdict:
    """Return the state and its evidence: one probe that failed outweighs all other findings."""
    if not findings:
        everything = "no partitions, signatures or users; first and last 8 MiB are zero"
        return DriveVerdict(DriveState.BLANK, [Evidence(probe="all", finding=everything)])
    states = {finding.state for finding in findings}
    state = DriveState.UNKNOWN if DriveState.UNKNOWN in states else DriveState.FOREIGN
    return DriveVerdict(state, [finding.evidence for finding in findings])


def _in_kernel(drive: Path, present: list[Partition]) -> list[ProbeFinding]:
    findings = [found("partitions", f"{len(present)} partition{'s' * (len(present) > 1)}")] if present else []
    for directory in (drive, *(partition.directory for partition in present)):
        holders = sysfs.names(directory / "holders")
        if holders:
            findings.append(found("holders", f"{directory.name} is in use by {', '.join(holders)}"))
    return findings


def _md_members(present: list[Partition], sysroot: Path) -> list[Evidence]:
    """The arrays that the partitions belong to, which distinguish one pool from another."""
    known = [udev.properties(sysroot, partition.directory) for partition in present]
    return [
        Evidence(
            probe="udev",
            finding=f"md superblock, array {fields.get('ID_FS_LABEL', 'without a name')}, UUID {fields['ID_FS_UUID']}",
        )
        for fields in known
        if fields.get("ID_FS_TYPE") == udev.MD_MEMBER and "ID_FS_UUID" in fields
    ]


def _in_partitions(present: list[Partition], devices: Path, run: Runner) -> list[ProbeFinding]:
    """The content of each partition, so that an administrator recognises the drive."""
    findings = []
    for partition in present:
        for finding in signatures.blkid(devices / partition.name, run):
            label = f" '{partition.label}'" if partition.label else ""
            number = sysfs.number(partition.directory / "partition")
            words = f"partition {number}{label}: {finding.evidence.finding}"
            findings.append(ProbeFinding(finding.state, Evidence(probe=finding.evidence.probe, finding=words)))
    return findings
