# SPDX-License-Identifier: Apache-2.0
"""The built image, unmodified, in a virtual server."""

import dataclasses
import errno
import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import repeat
from pathlib import Path

from qemu.qmp import QMPError

from millrace.system.errors import Failed
from millrace.system.wait import wait_until
from vm import agent, disks, guest, link, tsc
from vm.accel import Accel
from vm.machine import COMMAND_SECONDS, Machine
from vm.mute import MuteDrive
from vm.qemu import Files, Options, server_command
from vm.server import Drive, Server
from vm.tpm import Tpm

# Emulation is slow and uneven: what a real server does in seconds may take minutes.
PATIENCE = (
    "systemd.default_timeout_start_sec=900",
    "systemd.default_device_timeout_sec=600",
    "watchdog_thresh=60",
    # they guard nothing there and took 7 % of a cold boot
    "mitigations=off",
    # Each emulated CPU shows the host's counter. With two sockets the kernel doubts it, and asks a chip for the time.
    "tsc=reliable",
    # a host that is busy holds a drive up for longer than a real one may take
    "nvme_core.io_timeout=30",
    # On a busy host the timer's first ticks come late, and the kernel logs that the chipset has none.
    "no_timer_check",
)

# The same for units with a limit of their own: beside two other emulated servers a check of 200 shares took longer.
LIMITS = {
    "systemd.unit-dropin.millrace-assemble.service": b"[Service]\nTimeoutStartSec=900s\n",
    "systemd.unit-dropin.millrace-checker.service": b"[Service]\nTimeoutStartSec=300s\n",
    "systemd.unit-dropin.millrace-health.service": b"[Service]\nTimeoutStartSec=300s\n",
    "systemd.unit-dropin.millrace-health-stopped.service": b"[Service]\nTimeoutStartSec=300s\n",
    "systemd.unit-dropin.millrace-members.service": b"[Service]\nTimeoutStartSec=600s\n",
    "systemd.unit-dropin.millrace-metrics-collect.service": b"[Service]\nTimeoutStartSec=300s\n",
    "systemd.unit-dropin.millrace-metrics-collector.service": b"[Service]\nTimeoutStartSec=300s\n",
    "systemd.unit-dropin.systemd-networkd-wait-online.service": b"[Service]\nExecStart=\n"
    b"ExecStart=-/usr/lib/systemd/systemd-networkd-wait-online --any --timeout=120\n",
}

# So long QEMU leaves its monitor without an answer where the reset of a controller waits for requests of its drive.
STUCK_SECONDS = 3.0


def patience(accel: Accel) -> list[str]:
    """Return what is added to the kernel command line of a guest; nothing where it is not emulated.

    Beside other programs the guest compares its counter with ticks that come late: ten minutes of its own passed in
    three, and every deadline with them. The rate of the counter is known here.
    """
    if accel.name != "tcg":
        return []
    rate = tsc.khz()
    return [*PATIENCE, *([f"tsc_early_khz={rate}"] if rate else [])]


class Appliance(Machine):
    """A virtual server that boots the image; what is changed of `server` holds from the next start on."""

    def __init__(self, server: Server, image: Path, directory: Path, accel: Accel, options: Options) -> None:
        self.server = server
        # serial numbers of drives whose bays are empty from the next start until they are put in
        self.empty: set[str] = set()
        # drives that were put in while the machine ran, which are in no subsystem until the next start
        self._new: set[str] = set()
        # added to the kernel command line from the next start on
        self.cmdline: list[str] = []
        self.tpm: Tpm | None = None

        def command(files: Files) -> list[str]:
            self._new.clear()
            if self.tpm is not None:
                self.tpm.start()
            disks.make(self.server, image, files)
            if options.log_writes:
                disks.empty_logs(self.server, files)
            now = dataclasses.replace(options, cmdline=[*options.cmdline, *self.cmdline])
            return server_command(self.server, accel, files, now, self.empty)

        super().__init__(server.name, directory, accel, command)
        if options.tpm:
            self.tpm = Tpm(self.files.tpm, self.files.tpm_socket)

    def _gone(self) -> None:
        super()._gone()
        if self.tpm is not None:
            self.tpm.stop()

    def millrace(
        self, words: Sequence[str], *, user: str = "root", seconds: float = COMMAND_SECONDS, check: bool = True
    ) -> agent.Result:
        """Run a command line of `millrace` as the web pages do; as for `run`, but it prints text and reads nothing."""
        limit = seconds * self.accel.scale
        return self._completed(lambda: self._client().millrace(words, user, limit, lambda: self.running), check)

    def _bay(self, serial: str) -> int:
        """Return the bay of a drive: QEMU's devices are `nvme<bay>` on `bay<bay>` with `subsys<bay>`."""
        return [drive.serial for drive in self.server.drives].index(serial)

    def release(self, serial: str) -> None:
        """Begin to pull a drive while the machine runs; the guest lets it go a moment later."""
        self.qmp("device_del", id=f"nvme{self._bay(serial)}")

    def pull(self, *serials: str) -> None:
        """Pull drives while the machine runs and wait until the guest let them go."""
        for serial in serials:
            self.release(serial)
        for serial in serials:
            gone = f"! grep -qs {serial} /sys/class/nvme/*/serial"
            self.wait_command(gone, f"drive {serial} to be gone", seconds=120)

    def put_in(self, serial: str) -> None:
        """Put a drive back into its bay while the machine runs and wait until the guest has it."""
        self.insert(serial)
        self._wait_present(serial)

    def insert(self, serial: str) -> None:
        """Put a drive back into its bay while the machine runs; the guest finds it a moment later, or not at all."""
        number = self._bay(serial)
        if serial in self.empty:
            self.empty.remove(serial)
            self._open(serial)
        if serial in self._new:
            self._insert_new(number, self.server.drives[number])
        else:
            self._insert(number, serial, subsys=f"subsys{number}")

    def replace(self, old: str, new: Drive) -> None:
        """Put the blank drive `new` into the bay of `old`, which was pulled; it is there at the next start, too."""
        number = self._bay(old)
        drives = list(self.server.drives)
        drives[number] = new
        self.server = dataclasses.replace(self.server, drives=tuple(drives))
        with self.files.drive(new.serial).open("wb") as file:
            file.truncate(new.size)
        self._open(new.serial)
        self._insert_new(number, new)
        self._wait_present(new.serial)

    def _open(self, serial: str) -> None:
        file_node = {"driver": "file", "filename": str(self.files.drive(serial))}
        options = {"node-name": f"drive-{serial}", "discard": "unmap", "file": file_node}
        self.qmp("blockdev-add", driver="raw", **options)
        self._new.add(serial)

    def _insert_new(self, number: int, new: Drive) -> None:
        # QEMU's subsystem of a bay keeps the serial number of its first drive
        sector = {"logical_block_size": new.block, "physical_block_size": new.block}
        self._insert(number, new.serial, drive=f"drive-{new.serial}", **sector)

    def _insert(self, number: int, serial: str, **more: object) -> None:
        # QEMU lets go of a drive a moment after the guest did
        wait_until(
            lambda: [one["name"] for one in self.qmp("qom-list", path="/machine/peripheral")],
            lambda names: f"nvme{number}" not in names,
            repeat(0.5, 120),
        )
        self.qmp("device_add", driver="nvme", id=f"nvme{number}", serial=serial, bus=f"bay{number}", **more)

    def _wait_present(self, serial: str) -> None:
        present = f"for d in /sys/block/nvme*n1; do grep -qs {serial} $d/device/serial && exit 0; done; exit 1"
        self.wait_command(present, f"drive {serial} to be there", seconds=120)

    def throttle(self, serial: str, requests: int) -> None:
        """Let a drive do so many requests a second until it is pulled; 0 for any number."""
        limits = dict.fromkeys(("bps", "bps_rd", "bps_wr", "iops_rd", "iops_wr"), 0)
        self.qmp("block_set_io_throttle", id=self._device(serial), iops=requests, **limits)

    def fail_reads(self, serial: str, sectors: Sequence[int]) -> None:
        """Let each read of these sectors of 512 bytes fail until the next start or `heal_reads`; writes succeed."""
        bay = self._bay(serial)
        rules = [{"event": "none", "iotype": "read", "sector": sector, "errno": errno.EIO} for sector in sectors]
        image = self._node(serial)
        self.qmp("blockdev-add", driver="blkdebug", image=image, **{"node-name": f"bad{bay}", "inject-error": rules})
        self._show(serial, f"bad{bay}")

    def heal_reads(self, serial: str) -> None:
        """Let the reads that `fail_reads` let fail succeed."""
        self._show(serial, self._node(serial))
        self.qmp("blockdev-del", **{"node-name": f"bad{self._bay(serial)}"})

    @contextmanager
    def silent(self, serial: str) -> Iterator[MuteDrive]:
        """Let a drive take requests and answer none; it speaks again at the end."""
        bay, path = self._bay(serial), self.files.sockets / f"mute-{serial}"
        asked = [0.0]

        def answers() -> None:
            while not ended.is_set():
                asked[0] = time.monotonic()
                with suppress(QMPError, OSError, Failed):
                    self.qmp("query-status")
                asked[0] = 0.0
                ended.wait(0.5)

        def stuck() -> bool:
            return bool(asked[0]) and time.monotonic() - asked[0] > STUCK_SECONDS

        ended, asking = threading.Event(), threading.Thread(target=answers, daemon=True)
        with MuteDrive(self.files.drive(serial), path, stuck) as drive:
            server = {"type": "unix", "path": str(path)}
            self.qmp("blockdev-add", driver="nbd", server=server, discard="unmap", **{"node-name": f"mute{bay}"})
            self._show(serial, f"mute{bay}")
            drive.fall_silent()
            asking.start()
            try:
                yield drive
            finally:
                drive.speak()
                ended.set()
                asking.join(10)

    def _node(self, serial: str) -> str:
        return f"drive-{serial}" if serial in self._new else f"drive{self._bay(serial)}"

    def _show(self, serial: str, node: str) -> None:
        """Give the guest's drive another content while it runs."""
        self.qmp("qom-set", path=f"/machine/peripheral/{self._device(serial)}", property="drive", value=node)

    def _device(self, serial: str) -> str:
        """QEMU's device that has the content of a drive."""
        return f"nvme{self._bay(serial)}" if serial in self._new else f"ns{self._bay(serial)}"

    def erase(self, serial: str) -> None:
        """Erase a drive that was pulled, as if the next `put_in` were of another drive; QEMU wants the serial again."""
        path = self.files.drive(serial)
        size = path.stat().st_size
        os.truncate(path, 0)
        os.truncate(path, size)


def appliance(
    server: Server,
    image: Path,
    directory: Path,
    accel: Accel,
    *,
    credentials: Mapping[str, bytes] | None = None,
    cmdline: Sequence[str] = (),
    forwards: Mapping[int, int] | None = None,
    links: Sequence[str] | None = None,
    no_reboot: bool = True,
    log_writes: bool = False,
    secure_boot: bool = False,
    medium: Path | None = None,
    tpm: bool = False,
) -> Appliance:
    """Return a machine that boots `image` as `server`, with its disks in `directory`.

    `credentials` are systemd system credentials by name. `forwards` maps the guest's TCP ports to ports on loopback.
    `links` are the data NICs' netdev backends (vm.link); without them each NIC has a network of its own.
    With `log_writes` what is written to the drives is also in logs (vm.writelog). With `secure_boot` the first start of
    a signed image enrols its keys and ends; later ones boot only what is signed. With `tpm` it has a TPM 2.0. `medium`
    is an image on a USB drive, which is tried before the boot disk.
    """
    emulated = accel.name == "tcg"
    options = Options(
        credentials={**guest.credentials(), **(LIMITS if emulated else {}), **(credentials or {})},
        cmdline=[*guest.cmdline(), *patience(accel), *cmdline],
        forwards=forwards or {},
        links=links if links is not None else link.outside(len(server.nics)),
        no_reboot=no_reboot,
        log_writes=log_writes,
        secure_boot=secure_boot,
        medium=medium,
        tpm=tpm,
    )
    return Appliance(server, image, directory, accel, options)
