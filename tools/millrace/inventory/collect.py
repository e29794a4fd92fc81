# SPDX-License-Identifier: Apache-2.0
"""The whole inventory, from sysfs, procfs and the drives themselves. Reads only."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from millrace.inventory import cpus, features, memory, opal, pci
from millrace.inventory.boot_disk import InUse, drives_in_use
from millrace.inventory.drives import BayPlaces, DriveVerdict, block_dir, describe, drive_names, pci_functions
from millrace.inventory.enclosures import bays
from millrace.inventory.model import Drive, DriveState, Evidence, Inventory
from millrace.inventory.nics import nics, port_functions
from millrace.inventory.partitions import are_ours, partitions
from millrace.inventory.present import present
from millrace.inventory.probe import probe, run_tool
from millrace.inventory.probe_result import SurfaceReader
from millrace.inventory.surface import surface
from millrace.system import paths, sysfs
from millrace.system.run import Runner

PROBES_AT_ONCE = 8
# Opal of a namespace that comes over a network is that of another server.
LOCKING_TRANSPORTS = ("nvme", "sata", "sas")


def collect(sysroot: Path = Path("/"), run: Runner = run_tool, read: SurfaceReader = surface) -> Inventory:
    """Return the inventory of a server; `sysroot`, `run` and `read` are its files, tools and drives, or a capture's."""
    nodes = cpus.nodes(sysroot)
    every_cpu = [cpu for node in nodes for cpu in node.cpus]
    return Inventory(
        kernel=sysfs.text(sysroot / "proc/sys/kernel/osrelease") or "",
        cpu_model=cpus.cpu_model(sysroot),
        sockets=cpus.sockets(sysroot, every_cpu),
        nodes=nodes,
        memory=cpus.memory(sysroot),
        drives=drives(sysroot, run, read),
        nics=nics(sysroot, run),
        smt=cpus.smt(sysroot),
        cpu_mhz=cpus.clock(sysroot),
        cpu_throttled=cpus.throttled(sysroot, every_cpu),
        ecc=memory.ecc(sysroot),
        dimms=memory.dimms(sysroot),
        switches=pci.switches([*pci_functions(sysroot), *port_functions(sysroot)]),
        kernel_features=features.kernel_features(sysroot),
        lockdown=features.lockdown(sysroot),
        file_modules=features.file_modules(sysroot),
    )


def drives(sysroot: Path, run: Runner, read: SurfaceReader) -> list[Drive]:
    """Return every drive with its state; all are probed at once, so that a slow one does not delay the others."""
    used = drives_in_use(sysroot)
    places = BayPlaces(pci.slots(sysroot), bays(sysroot))

    def probed(name: str) -> Drive:
        return describe(sysroot, name, _verdict(sysroot, name, used, run, read), places, run)

    with ThreadPoolExecutor(PROBES_AT_ONCE) as pool:
        examined = list(pool.map(probed, drive_names(sysroot)))
    # after the threads have ended: it forks
    return mark_duplicates(_with_opal(examined, sysroot))


def examine(name: str, run: Runner = run_tool, read: SurfaceReader = surface) -> Drive:
    """Probe one drive of this server by its kernel name; all others are known from sysfs alone."""
    places = BayPlaces(pci.slots(paths.ROOT), bays(paths.ROOT))
    verdict = _verdict(paths.ROOT, name, drives_in_use(paths.ROOT), run, read)
    [found] = _with_opal([describe(paths.ROOT, name, verdict, places, run)], paths.ROOT)
    here = present()
    same_wwid = sum(one.wwid == found.wwid for one in here) if found.wwid else 0
    return _with_identity(found, sum(one.serial == found.serial for one in here), same_wwid)


def mark_duplicates(found: list[Drive]) -> list[Drive]:
    """Set drives to UNKNOWN that share a serial number or wwid with another one."""
    serials = Counter(drive.serial for drive in found)
    wwids = Counter(drive.wwid for drive in found if drive.wwid)
    return [_with_identity(drive, serials[drive.serial], wwids[drive.wwid]) for drive in found]


def _with_opal(found: list[Drive], sysroot: Path) -> list[Drive]:
    nodes = {drive.name: sysroot / "dev" / drive.name for drive in found if drive.transport in LOCKING_TRANSPORTS}
    states = opal.states(list(nodes.values()))
    return [opal.with_state(drive, states.get(nodes[drive.name])) if drive.name in nodes else drive for drive in found]


def _with_identity(drive: Drive, same_serial: int, same_wwid: int) -> Drive:
    problems = []
    if not drive.serial:
        problems.append("the drive has no serial number")
    elif same_serial > 1:
        problems.append(f"{same_serial} drives have the serial number {drive.serial}")
    if same_wwid > 1:
        problems.append(f"{same_wwid} drives have the wwid {drive.wwid}")
    if not problems or drive.state is DriveState.BOOT:
        return drive
    evidence = [*(Evidence(probe="identity", finding=problem) for problem in problems), *drive.evidence]
    return drive.model_copy(update={"state": DriveState.UNKNOWN, "evidence": evidence})


def _verdict(sysroot: Path, name: str, used: InUse, run: Runner, read: SurfaceReader) -> DriveVerdict:
    directory = block_dir(sysroot, name)
    if name in used.system:
        return DriveVerdict(DriveState.BOOT, [Evidence(probe="mounts", finding=used.system[name])])
    if used.problem:
        # Any drive could be the one that the system runs from.
        return DriveVerdict(DriveState.UNKNOWN, [Evidence(probe="mounts", finding=used.problem)])
    if name in used.mounted and not are_ours(partitions(directory)):
        return DriveVerdict(DriveState.BOOT, [Evidence(probe="mounts", finding=used.mounted[name])])
    return probe(directory, sysroot / "dev", run, read)
