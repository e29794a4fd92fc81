# SPDX-License-Identifier: Apache-2.0
"""A guest of the image's kernel, initrd and /usr alone, which runs one Python module: no systemd, no disk, no network.

It is up in ten seconds. Its drives are what the module makes of its memory; its results go to the second serial port.
"""

import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from vm import pe
from vm.cpio import archive

PLACE = "millrace-guest"
"""Where the files of a guest are, below its root."""
INIT = f"{PLACE}/init"
COUNTED = ("-icount", "shift=0,sleep=off", "-smp", "1")
"""One CPU whose clock counts instructions: one takes a nanosecond, and time in which the CPU waits is skipped."""
CONSOLE_TAIL = 30


@dataclass(frozen=True)
class Parts:
    """What a guest is made of: the unified kernel image, the partition with /usr, and the QEMU program."""

    efi: Path
    usr: Path
    qemu: str


@dataclass(frozen=True)
class Outcome:
    """What a guest left: its results, the last lines of its console, and how QEMU ended, as part of a sentence."""

    results: str
    console: str
    ended: str


def overlay(files: Mapping[str, bytes]) -> bytes:
    """Return what is added to the image's initrd: the first process, and `files` by their path below PLACE."""
    init = resources.files("vm").joinpath("bare_init").read_bytes()
    return archive({INIT: init} | {f"{PLACE}/{path}": content for path, content in files.items()})


def command(
    program: str, kernel: Path, initrd: Path, usr: Path, console: Path, results: Path, memory: int, *words: str
) -> list[str]:
    """Return the command line of the QEMU `program` with `memory` in MiB.

    `words` begin with the module that runs; QEMU options follow.
    """
    module, *options = words
    # On a busy host the emulated timer is late, and the kernel's look for it at boot panics; it is there.
    cmdline = f"console=ttyS0 quiet loglevel=3 panic=-1 nowatchdog no_timer_check rdinit=/{INIT} -- {module}"
    return [
        *(program, "-accel", "tcg", *options),
        # With the first two the kernel copies byte by byte, which counts eight times the instructions of a real copy.
        # The others cost the host a tenth of a run and the guest hardly an instruction.
        *("-cpu", "max,erms=off,fsrm=off,la57=off,smap=off", "-M", "q35", "-m", str(memory)),
        *("-nodefaults", "-no-user-config", "-no-reboot", "-display", "none"),
        # The same date at every boot: it is part of superblocks.
        *("-rtc", "base=2026-11-20T00:00:00,clock=vm"),
        *("-serial", f"file:{console}", "-serial", f"file:{results}"),
        *("-kernel", str(kernel), "-initrd", str(initrd), "-append", cmdline),
        *("-drive", f"if=none,id=usr,format=raw,readonly=on,file={usr}"),
        *("-device", "virtio-blk-pci,drive=usr"),
    ]


def run(
    parts: Parts, files: Mapping[str, bytes], memory: int, seconds: int, module: str, options: Sequence[str]
) -> Outcome:
    """Boot a guest, wait until it is off, and return what it left; it gets `seconds` of CPU time at most."""
    with tempfile.TemporaryDirectory(prefix="millrace-guest-") as directory:
        place = Path(directory)
        kernel, initrd, console, results = (place / name for name in ("kernel", "initrd", "console", "results"))
        kernel.write_bytes(pe.section(parts.efi, ".linux"))
        initrd.write_bytes(pe.section(parts.efi, ".initrd") + overlay(files))
        machine = command(parts.qemu, kernel, initrd, parts.usr, console, results, memory, module, *options)
        argv = ["prlimit", "--core=0", f"--cpu={seconds}:{seconds + 1}", *machine]
        begin = time.monotonic()
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        if done.returncode == -signal.SIGXCPU:
            ended = f"it took more than {seconds} s of a processor"
        else:
            ended = f"QEMU ended with {done.returncode} after {time.monotonic() - begin:.0f} s"
        said, tail = (path.read_text(errors="replace") if path.exists() else "" for path in (results, console))
        return Outcome(said, "\n".join(tail.splitlines()[-CONSOLE_TAIL:]), ended)
