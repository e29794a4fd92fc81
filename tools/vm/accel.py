# SPDX-License-Identifier: Apache-2.0
"""Which accelerator really works here, and how patient to be.

/dev/kvm may exist and open and still hang a stock kernel (nested `kvm_pvm`), so the only proof is a kernel that runs.
"""

import os
import select
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from vm import pe

QEMU = "qemu-system-x86_64"
KVM = Path("/dev/kvm")
PROBE_SECONDS = 10.0
# The kernel's own first line: the decompressor and the firmware print others.
PROOF = b"Linux version"
# What the loop of `calibrate` takes on the machine that the deadlines were chosen on.
REFERENCE_SECONDS = 0.25
LOOPS = 3_000_000


@dataclass(frozen=True)
class Accel:
    """An accelerator of the program `qemu`; deadlines are multiplied by `scale` (1.0 or more)."""

    name: str
    scale: float = 1.0
    qemu: str = QEMU

    @property
    def options(self) -> list[str]:
        """QEMU's options. `-cpu max` boots faster under emulation than the default model.

        Less what costs there: a fifth level of page tables, and copies that are emulated byte by byte, together 8 % of
        a boot; and SMAP, which makes every copy between kernel and program a change of address translation, 4 %.
        A boot is 550 MiB of translated code: with room for it none is translated twice, 3 %.
        """
        if self.name == "kvm":
            return ["-accel", "kvm", "-cpu", "host"]
        return ["-accel", "tcg,thread=multi,tb-size=1024", "-cpu", "max,la57=off,erms=off,fsrm=off,smap=off"]


def runs_kernel(kernel: Path, qemu: str = QEMU, seconds: float = PROBE_SECONDS) -> bool:
    """Boot `kernel` under KVM and tell whether it prints its first line within `seconds`."""
    argv = [qemu, "-accel", "kvm", "-machine", "q35", "-cpu", "host", "-m", "512", "-display", "none", "-no-reboot"]
    argv += ["-nodefaults", "-serial", "stdio", "-kernel", str(kernel), "-append", "console=ttyS0 panic=-1"]
    try:
        process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
        )
    except OSError:
        return False
    assert process.stdout is not None
    deadline = time.monotonic() + seconds
    seen = b""
    try:
        while (left := deadline - time.monotonic()) > 0:
            if not select.select([process.stdout], [], [], left)[0]:
                break
            chunk = os.read(process.stdout.fileno(), 65536)
            if not chunk:
                break
            seen += chunk
            if PROOF in seen:
                return True
        return False
    finally:
        process.kill()
        process.stdout.close()
        process.wait()


def host_identity() -> str:
    """Return what a probe's verdict is valid for: this boot with these KVM modules."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    modules = sorted(p.name for p in Path("/sys/module").glob("kvm*"))
    return "+".join([boot, *modules])


def calibrate() -> float:
    """Return how much slower this host is than the one that the deadlines were chosen on, at least 1.0."""
    begin = time.monotonic()
    total = 0
    for number in range(LOOPS):
        total += number & 7
    return max(1.0, (time.monotonic() - begin) / REFERENCE_SECONDS)


def choose(loader: Path, verdicts: Path, *, qemu: str = QEMU, device: Path = KVM) -> Accel:
    """Return the accelerator to use.

    `loader` is the unified kernel image whose kernel is the probe; the verdict is kept in the file `verdicts`.
    """
    scale = calibrate()
    if not os.access(device, os.R_OK | os.W_OK):
        return Accel("tcg", scale, qemu)
    identity = host_identity()
    if verdicts.is_file():
        known, _, name = verdicts.read_text().strip().rpartition(" ")
        if known == identity and name in {"kvm", "tcg"}:
            return Accel(name, scale, qemu)
    with tempfile.TemporaryDirectory(prefix="millrace-probe-") as directory:
        kernel = Path(directory) / "vmlinuz"
        kernel.write_bytes(pe.section(loader, ".linux"))
        name = "kvm" if runs_kernel(kernel, qemu) else "tcg"
    verdicts.parent.mkdir(parents=True, exist_ok=True)
    verdicts.write_text(f"{identity} {name}\n")
    return Accel(name, scale, qemu)
