# SPDX-License-Identifier: Apache-2.0
"""QEMU's command line for a virtual server. Pure: everything that exists on disk is named by the caller."""

import base64
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vm.accel import Accel
from vm.guest import PORT
from vm.server import Server

MIB = 1 << 20
# The unit of a log of writes, and that in which Linux counts.
SECTOR = 512
# QEMU goes on with an HPET that the kernel has left for better timers: 250 times a second, 3 % of a processor.
MACHINE = "q35,hpet=off"
# Debian's package ovmf
FIRMWARE = Path("/usr/share/OVMF")
# Its Secure Boot needs the system management mode: only code in that writes the variables (OvmfPkg/README).
SECURE_MACHINE = f"{MACHINE},smm=on"
SECURE = ("driver=cfi.pflash01,property=secure,value=on", "ICH9-LPC.disable_s3=1")
# Free PCI bus numbers behind each NUMA node's expander bridge.
FIRST_BUS = 32
BUSES_PER_NODE = 48
# NIC ports come after the slots of the drives (vm.server.DRIVES_PER_NODE).
FIRST_NIC_SLOT = 0x14
SPARE_SLOT = 0x1E
LOCAL_DISTANCE_OTHER = 21


@dataclass(frozen=True)
class Files:
    """What a machine has on disk; sockets are apart because a socket's path may have 107 characters at most."""

    directory: Path
    sockets: Path

    @property
    def boot_disk(self) -> Path:
        """qcow2 overlay over the image."""
        return self.directory / "boot.qcow2"

    @property
    def variables(self) -> Path:
        """The machine's own UEFI variables."""
        return self.directory / "OVMF_VARS.fd"

    @property
    def console(self) -> Path:
        """What the guest wrote to its serial port."""
        return self.directory / "console.log"

    @property
    def typed(self) -> Path:
        """A pipe whose content is typed on the guest's serial console."""
        return self.sockets / "typed"

    @property
    def tpm(self) -> Path:
        """What the emulated TPM keeps (vm.tpm)."""
        return self.directory / "tpm"

    @property
    def tpm_socket(self) -> Path:
        """Where QEMU reaches the emulated TPM."""
        return self.sockets / "tpm"

    @property
    def qmp(self) -> Path:
        """QEMU's monitor."""
        return self.sockets / "qmp"

    @property
    def channel(self) -> Path:
        """The guest agent's virtio-serial port."""
        return self.sockets / "channel"

    def drive(self, serial: str) -> Path:
        """Return the raw file of the NVMe drive with this serial number."""
        return self.directory / f"{serial}.raw"

    def log(self, serial: str) -> Path:
        """Return the log of what was written to this drive since the last start (vm.writelog)."""
        return self.directory / f"{serial}.log"


@dataclass(frozen=True)
class Options:
    """What changes from one start to the next.

    `forwards` maps guest TCP ports to ports on the host's loopback. `links` are netdev backends, one for each data
    NIC in order ("user" or "dgram,…"). `credentials` and `cmdline` reach the unmodified image by SMBIOS. With
    `log_writes` each NVMe drive has a log of its requests (`Files.log`). With `secure_boot` firmware verifies what it
    starts as soon as keys are enrolled in `Files.variables`. With `tpm` there is a TPM 2.0 behind
    `Files.tpm_socket`. `medium` is an image on a USB drive that cannot be written, which firmware tries before the boot
    disk.
    """

    credentials: Mapping[str, bytes] = field(default_factory=dict)
    cmdline: Sequence[str] = ()
    forwards: Mapping[int, int] = field(default_factory=dict)
    links: Sequence[str] = ()
    no_reboot: bool = True
    log_writes: bool = False
    secure_boot: bool = False
    medium: Path | None = None
    tpm: bool = False

    @property
    def firmware(self) -> Path:
        """OVMF; with Secure Boot the build that keeps its variables from the guest's kernel, without any keys."""
        return FIRMWARE / ("OVMF_CODE_4M.secboot.fd" if self.secure_boot else "OVMF_CODE_4M.fd")


def smbios(options: Options) -> list[str]:
    """Return type 11 strings (systemd-stub(7), systemd.system-credentials(7)); QEMU wants commas doubled."""
    strings = [
        f"io.systemd.credential.binary:{name}={base64.b64encode(value).decode()}"
        for name, value in sorted(options.credentials.items())
    ]
    if options.cmdline:
        strings.append("io.systemd.stub.kernel-cmdline-extra=" + " ".join(options.cmdline))
    return [part for text in strings for part in ("-smbios", "type=11,value=" + text.replace(",", ",,"))]


def platform(accel: Accel, files: Files, no_reboot: bool) -> list[str]:
    """Return what every VM has: accelerator, console, monitor, agent channel, entropy, panic notice."""
    argv = [accel.qemu, *accel.options, "-nodefaults", "-display", "none", "-no-user-config"]
    typed = f",input-path={files.typed}" if files.typed.exists() else ""
    argv += ["-chardev", f"file,id=console,path={files.console},append=on{typed}", "-serial", "chardev:console"]
    argv += ["-chardev", f"socket,id=qmp,path={files.qmp},server=on,wait=off", "-mon", "chardev=qmp,mode=control"]
    argv += ["-chardev", f"socket,id=agent,path={files.channel},server=on,wait=off"]
    argv += ["-device", "virtio-serial-pci,bus=pcie.0"]
    argv += ["-device", f"virtserialport,chardev=agent,name={PORT}"]
    argv += ["-device", "virtio-rng-pci,bus=pcie.0", "-device", "pvpanic"]
    return [*argv, "-no-reboot"] if no_reboot else argv


def nodes(server: Server) -> list[str]:
    """Return CPUs and memory by NUMA node, and a PCI expander bridge in each."""
    per_node = {node.cpus for node in server.nodes}
    even = f",sockets={len(server.nodes)},cores={min(per_node)},threads=1" if len(per_node) == 1 else ""
    argv = ["-smp", f"{server.cpus}{even}", "-m", f"{server.memory // MIB}M"]
    first = 0
    for number, node in enumerate(server.nodes):
        last = first + node.cpus - 1
        argv += ["-object", f"memory-backend-ram,id=mem{number},size={node.memory // MIB}M"]
        argv += ["-numa", f"node,nodeid={number},cpus={first}-{last},memdev=mem{number}"]
        first = last + 1
    for number in range(len(server.nodes)):
        for other in range(number + 1, len(server.nodes)):
            argv += ["-numa", f"dist,src={number},dst={other},val={LOCAL_DISTANCE_OTHER}"]
    for number in range(len(server.nodes)):
        bus = FIRST_BUS + BUSES_PER_NODE * number
        argv += ["-device", f"pxb-pcie,id=node{number},bus=pcie.0,bus_nr={bus},numa_node={number}"]
    return argv


def _port(name: str, node: int, slot: int, chassis: int) -> list[str]:
    place = f"bus=node{node},addr={slot:#x}.0,chassis={chassis},slot={chassis}"
    return ["-device", f"pcie-root-port,id={name},{place}"]


def drives(server: Server, files: Files, log_writes: bool, empty: Collection[str] = ()) -> list[str]:
    """Return one NVMe subsystem for each drive: a controller on a root port, so that it can be pulled, and a namespace.

    The namespace belongs to the subsystem: it is there again when a controller is put back. Of a drive whose serial
    number is in `empty` there is the port.
    """
    argv: list[str] = []
    used = dict.fromkeys(range(len(server.nodes)), 0)
    for number, drive in enumerate(server.drives):
        argv += _port(f"bay{number}", drive.node, used[drive.node], number + 1)
        used[drive.node] += 1
        if drive.serial in empty:
            continue
        # Not cache=unsafe: what the guest flushed must be there after a power cut.
        name = f"content{number}" if log_writes else f"drive{number}"
        backend = f"driver=raw,node-name={name},discard=unmap,detect-zeroes=unmap"
        argv += ["-blockdev", f"{backend},file.driver=file,file.filename={files.drive(drive.serial)}"]
        if log_writes:
            log = f"log.driver=file,log.filename={files.log(drive.serial)},log-sector-size={SECTOR}"
            argv += ["-blockdev", f"driver=blklogwrites,node-name=drive{number},discard=unmap,file={name},{log}"]
        argv += ["-device", f"nvme-subsys,id=subsys{number},nqn={drive.serial}"]
        place = f"bus=bay{number},subsys=subsys{number}"
        argv += ["-device", f"nvme,id=nvme{number},serial={drive.serial},{place}"]
        sector = f"logical_block_size={drive.block},physical_block_size={drive.block}"
        argv += ["-device", f"nvme-ns,id=ns{number},drive=drive{number},bus=nvme{number},nsid=1,{sector}"]
    return argv


# The network of a user-mode backend that names none (qemu(1), -netdev user); forwards come from its second address.
FORWARDED_FROM = "10.0.2.0/24"


def network(server: Server, options: Options) -> list[str]:
    """Return the management NIC, forwarded to loopback, and the data NICs on their nodes."""
    forwards = "".join(f",hostfwd=tcp:127.0.0.1:{host}-:{guest}" for guest, host in sorted(options.forwards.items()))
    argv = ["-netdev", f"user,id=management{forwards}"]
    argv += ["-device", "virtio-net-pci,bus=pcie.0,netdev=management,mac=52:54:00:4d:00:00,romfile="]
    used = dict.fromkeys(range(len(server.nodes)), FIRST_NIC_SLOT)
    for number, (nic, link) in enumerate(zip(server.nics, options.links, strict=True)):
        argv += _port(f"nicport{number}", nic.node, used[nic.node], 100 + number)
        used[nic.node] += 1
        kind, _, rest = link.partition(",")
        argv += ["-netdev", ",".join(filter(None, [kind, f"id=data{number}", rest]))]
        mac = f"52:54:00:4d:01:{number:02x}"
        argv += ["-device", f"virtio-net-pci,netdev=data{number},bus=nicport{number},mac={mac},romfile="]
    return argv


def tpm(files: Files) -> list[str]:
    """Return a TPM 2.0 behind the interface that most mainboards have."""
    argv = ["-chardev", f"socket,id=tpm,path={files.tpm_socket}", "-tpmdev", "emulator,id=tpm0,chardev=tpm"]
    return [*argv, "-device", "tpm-tis,tpmdev=tpm0"]


def spare_ports(server: Server) -> list[str]:
    """Return an empty root port for each node, `spare0` and on: where a card is put in while the server runs."""
    return [part for node in range(len(server.nodes)) for part in _port(f"spare{node}", node, SPARE_SLOT, 200 + node)]


def usb(medium: Path) -> list[str]:
    """Return a USB drive with an image that cannot be written."""
    argv = ["-device", "qemu-xhci,id=usb,bus=pcie.0"]
    argv += ["-blockdev", f"driver=raw,node-name=medium,read-only=on,file.driver=file,file.filename={medium}"]
    return [*argv, "-device", "usb-storage,bus=usb.0,drive=medium,serial=MILLRACE-USB,removable=on,bootindex=0"]


def server_command(
    server: Server, accel: Accel, files: Files, options: Options, empty: Collection[str] = ()
) -> list[str]:
    """Return the command line of a virtual server that boots `files.boot_disk` by UEFI.

    `empty` are the serial numbers of drives that are not in their bays.
    """
    argv = platform(accel, files, options.no_reboot)
    argv += ["-machine", SECURE_MACHINE if options.secure_boot else MACHINE, "-name", server.name, *nodes(server)]
    argv += [part for setting in SECURE if options.secure_boot for part in ("-global", setting)]
    argv += ["-drive", f"if=pflash,format=raw,readonly=on,file={options.firmware}"]
    argv += ["-drive", f"if=pflash,format=raw,file={files.variables}"]
    disk = f"driver=qcow2,node-name=boot,discard=unmap,file.driver=file,file.filename={files.boot_disk}"
    argv += ["-blockdev", disk]
    # UEFI would try the NVMe drives first.
    argv += ["-device", "virtio-blk-pci,bus=pcie.0,drive=boot,serial=MILLRACE-BOOT,bootindex=1"]
    return [
        *argv,
        *(usb(options.medium) if options.medium else []),
        *(tpm(files) if options.tpm else ()),
        *drives(server, files, options.log_writes, empty),
        *network(server, options),
        *spare_ports(server),
        *smbios(options),
    ]
