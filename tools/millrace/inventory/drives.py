# SPDX-License-Identifier: Apache-2.0
"""The drives that the kernel shows: identity and place, from sysfs alone."""

import re
from dataclasses import dataclass
from pathlib import Path

from millrace.inventory import nvme, pci, udev
from millrace.inventory.model import Drive, DriveState, Evidence
from millrace.system import sysfs
from millrace.system.run import Runner
from millrace.system.text import one_line

# Block devices that are made of other devices or of memory, and media that hold no data of a server.
NO_DRIVES = re.compile(r"(loop|ram|md|dm-|zram|sr|fd|nbd|mtdblock)")
# xiRAID names its devices after the arrays, which administrators name: a name like that stays.
NAMED = re.compile(r"xi_\w+")
SECTOR = 512  # sysfs counts sizes in these, whatever the drive's own sector is
VPD_HEADER = 4


@dataclass(frozen=True)
class DriveVerdict:
    """The state of a drive and why."""

    state: DriveState
    evidence: list[Evidence]


@dataclass(frozen=True)
class BayPlaces:
    """The slots of the board by PCI address, the bays of enclosures by the device in them."""

    slots: dict[str, str]
    bays: dict[Path, str]


@dataclass(frozen=True)
class DriveIdentity:
    """What a drive reports about itself."""

    serial: str
    wwid: str
    model: str
    firmware: str
    transport: str
    device: Path


def block_dir(sysroot: Path, name: str) -> Path:
    """Return the real sysfs directory of a drive."""
    return (sysroot / "sys/block" / name).resolve()


def drive_names(sysroot: Path) -> list[str]:
    """Return the kernel names of all drives, nvme2n1 before nvme10n1."""
    found = [
        name
        for name in sysfs.names(sysroot / "sys/block")
        # A multipath NVMe drive has one hidden block device for each path besides its own.
        if not NO_DRIVES.match(name) and sysfs.text(sysroot / "sys/block" / name / "hidden") != "1"
    ]
    return sorted(found, key=natural_key)


def describe(sysroot: Path, name: str, verdict: DriveVerdict, places: BayPlaces, run: Runner | None) -> Drive:
    """Return a drive with everything that sysfs and the drive itself report. Sizes in bytes.

    Without `run` no command is sent to the drive: one that hangs would hold the caller in the kernel.
    """
    directory = block_dir(sysroot, name)
    identity = identify(directory)
    function = sysfs.pci_function(identity.device)
    switch = pci.switch_port(function)
    drive = Drive(
        name=name,
        serial=identity.serial,
        wwid=identity.wwid,
        model=identity.model,
        firmware=identity.firmware,
        transport=identity.transport,
        size=size(directory),
        logical_block=sysfs.number(directory / "queue/logical_block_size") or SECTOR,
        physical_block=sysfs.number(directory / "queue/physical_block_size") or SECTOR,
        rotational=sysfs.text(directory / "queue/rotational") == "1",
        removable=sysfs.text(directory / "removable") == "1",
        pci_address=function.name if function else None,
        numa_node=sysfs.numa_node(function),
        link=pci.link(function),
        state=verdict.state,
        evidence=verdict.evidence,
        max_discard=sysfs.number(directory / "queue/discard_max_hw_bytes"),
        volatile_write_cache=nvme.write_cache(directory),
        slot=pci.slot(function, places.slots),
        bay=places.bays.get(identity.device),
        switch=switch.name if switch else None,
        links=udev.by_id(sysroot, directory),
        minimum_io=sysfs.number(directory / "queue/minimum_io_size"),
        optimal_io=sysfs.number(directory / "queue/optimal_io_size"),
    )
    if identity.transport != "nvme" or run is None:
        return drive
    said = nvme.details(directory, identity.device, sysroot / "dev" / name, run)
    return drive.model_copy(update={**said})


def pci_functions(sysroot: Path) -> list[Path | None]:
    """Return the PCI functions of the drives' controllers."""
    return [sysfs.pci_function(identify(block_dir(sysroot, name)).device) for name in drive_names(sysroot)]


def size(directory: Path) -> int:
    """Return the size of a drive in bytes; 0 for a slot without a medium."""
    return (sysfs.number(directory / "size") or 0) * SECTOR


def identify(directory: Path) -> DriveIdentity:
    """Return serial, wwid, model, firmware and transport; empty strings for what the drive does not report."""
    if directory.name.startswith("nvme"):
        return _nvme(directory)
    device = (directory / "device").resolve()
    if (device / "vendor").exists() and (device / "model").exists():
        return _scsi(directory, device)
    return DriveIdentity(
        serial=_attribute(directory / "serial") or _attribute(device / "serial") or _own_name(directory.name),
        wwid=_attribute(directory / "wwid"),
        model=_attribute(device / "name"),
        firmware="",
        transport="virtio" if directory.name.startswith("vd") else re.sub(r"[^a-z].*", "", directory.name),
        device=device,
    )


def _nvme(directory: Path) -> DriveIdentity:
    controller = _nvme_controller((directory / "device").resolve())
    fabric = sysfs.text(controller / "transport")
    return DriveIdentity(
        serial=_attribute(controller / "serial"),
        wwid=_attribute(directory / "wwid"),
        model=_attribute(controller / "model"),
        firmware=_attribute(controller / "firmware_rev"),
        # A namespace that comes over a network is not a drive of this server.
        transport="nvme" if fabric in (None, "pcie") else f"nvme-{fabric}",
        device=controller,
    )


def _nvme_controller(device: Path) -> Path:
    """A drive that can have two paths hangs off its subsystem, which links to its controllers."""
    if (device / "transport").exists():
        return device
    controllers = [name for name in sysfs.names(device) if re.fullmatch(r"nvme\d+", name)]
    return (device / min(controllers, key=natural_key)).resolve() if controllers else device


def _scsi(directory: Path, device: Path) -> DriveIdentity:
    return DriveIdentity(
        serial=_vpd_serial(device / "vpd_pg80"),
        wwid=_attribute(device / "wwid"),
        model=" ".join(filter(None, (_attribute(device / "vendor"), _attribute(device / "model")))),
        firmware=_attribute(device / "rev"),
        transport=_scsi_transport(device),
        device=device,
    )


def _own_name(name: str) -> str:
    return name if NAMED.fullmatch(name) else ""


def _attribute(path: Path) -> str:
    """What a drive says of itself, fit for a terminal: its firmware may be made to drive one (console_codes(4))."""
    return one_line(sysfs.text(path) or "")


def _vpd_serial(path: Path) -> str:
    """SCSI VPD page 0x80: four bytes of header, then the serial number."""
    try:
        return one_line(path.read_bytes()[VPD_HEADER:].decode(errors="replace").strip("\0 "))
    except OSError:
        return ""


def _scsi_transport(device: Path) -> str:
    parts = device.parts
    if any(re.fullmatch(r"usb\d+", part) for part in parts):
        return "usb"
    if any(re.fullmatch(r"ata\d+", part) for part in parts):
        return "sata"
    return "sas" if any(part.startswith("end_device-") for part in parts) else "scsi"


def natural_key(name: str) -> list[tuple[int, str]]:
    """Return a sort key by the numbers in a name: nvme2n1 before nvme10n1."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)]
