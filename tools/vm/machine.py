# SPDX-License-Identifier: Apache-2.0
"""A running VM: start, observe, run commands, cut the power."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from qemu.qmp import QMPError

from millrace.system.errors import Failed
from vm import agent
from vm.accel import Accel
from vm.monitor import Monitor
from vm.qemu import Files

CONSOLE_TAIL = 30
# A guest that does not answer is asked for what its kernel waits for; the answer is longer.
KERNEL_SECONDS, KERNEL_TAIL = 60.0, 200
BLOCKED = ["/bin/sh", "-c", "echo w > /proc/sysrq-trigger; dmesg | tail -n 100"]
PANIC_ENDS = "end Kernel panic"
POLL_SECONDS = 0.5
# Between two questions to an emulated guest: asking systemd twice a second took a fifth of a cold boot.
EMULATED_POLL_SECONDS = 3.0
# Deadlines of the reference host under emulation; `Accel.scale` stretches them. A boot beside four other machines took
# 330 s.
BOOT_SECONDS = 600.0
SHUTDOWN_SECONDS = 180.0
PRESS_SECONDS = 20.0
# QEMU holds a key for a tenth of a second, and keeps few that the guest has not read.
KEY_SECONDS = 0.25
COMMAND_SECONDS = 120.0
# What is to happen within this time is looked for more often.
SOON_SECONDS = 20.0
MONITOR_SECONDS = 30.0
EMULATOR_TRIES = 3
# What a guest's kernel prints where the emulator is at fault. Its first task waits for built-in drivers only, which are
# done in seconds; on a busy host one was seen that waited for 15 minutes.
EMULATOR_FAULTS = ("Oops: int3", "IO-APIC + timer doesn't work", "task swapper/0:1 blocked for more than")
# What a guest's kernel prints when RCU's thread was to be woken by the timer of a CPU and 21 seconds later was not.
NO_TIMER_IN_KERNEL = "Possible timer handling issue on cpu="
NO_TIMER = "no more timer interrupts come to an emulated CPU of"
"""Said of a failure, with the machine's name after it, once its kernel has noticed."""
# What systemd prints for the first unit that it has started.
FIRST_UNIT = "  OK  "
# Firmware's last line. The kernel starts systemd, which prints, 5 to 60 s later under emulation.
HANDED_OVER = "BdsDxe: starting Boot"
SILENT_SECONDS = 240.0

Command = Callable[[Files], list[str]]


def free_port() -> int:
    """Return a TCP port on loopback that nothing listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Machine:
    """A VM whose disks live in `directory`; used as a context manager it is powered off at the end.

    `command` returns QEMU's command line for the machine's files; it is called at every start.
    """

    def __init__(self, name: str, directory: Path, accel: Accel, command: Command) -> None:
        self.name = name
        self.accel = accel
        self._sockets = tempfile.mkdtemp(prefix="millrace-")
        self.files = Files(directory, Path(self._sockets))
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None
        self._agent: agent.Client | None = None
        self._monitor: Monitor | None = None
        self._console_start = 0
        self._given_up = False
        self._keyboard: int | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> None:
        """Switch the machine on; return as soon as QEMU runs. Failed: it runs already, or QEMU ends."""
        if self.running:
            raise Failed(f"{self.name} runs already.")
        self.files.directory.mkdir(parents=True, exist_ok=True)
        self._given_up = False
        self._console_start = self.files.console.stat().st_size if self.files.console.exists() else 0
        log = self.files.directory / "qemu.log"
        with log.open("ab") as out:
            self._process = subprocess.Popen(
                self._command(self.files),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                # Ctrl-C on the terminal belongs to the tool, which then shuts the guest down. Not a session of its own:
                # the kernel shares processors out by session first, and a priority would mean nothing (sched(7)).
                process_group=0,
            )
        self.wait_for(self._connect, "QEMU's sockets", MONITOR_SECONDS)

    def _connect(self) -> bool:
        if not (self.files.qmp.exists() and self.files.channel.exists()):
            return False
        try:
            if self._agent is None:
                self._agent = agent.Client(self.files.channel)
            self._monitor = Monitor(self.files.qmp)
        except (QMPError, OSError):
            return False
        return True

    @property
    def running(self) -> bool:
        """Whether QEMU runs."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """The process id of QEMU. Failed: the machine was never started."""
        if self._process is None:
            raise Failed(f"{self.name} was never started.")
        return self._process.pid

    def power_cut(self) -> None:
        """Cut the power: what the guest did not flush is lost."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
        self._gone()

    def shutdown(self, seconds: float = SHUTDOWN_SECONDS) -> None:
        """Press the power button until the guest, which may not listen to it yet, is off."""
        deadline = time.monotonic() + seconds * self.accel.scale
        while self.running and time.monotonic() < deadline:
            # QEMU may end while it is asked.
            with suppress(QMPError, OSError):
                self.qmp("system_powerdown")
            self._ended(PRESS_SECONDS)
        self.wait_off(0)

    def wait_off(self, seconds: float = SHUTDOWN_SECONDS) -> None:
        """Wait until QEMU has ended by itself, at most so many scaled seconds. Failed: it has not."""
        if not self._ended(seconds * self.accel.scale):
            raise Failed(self._with_console(f"{self.name} did not switch itself off in time"))
        self._gone()

    def boot_ended(self, seconds: float) -> bool:
        """Wait until a boot that is to switch the machine off has; False: the emulator broke it, and the power is cut.

        Failed: neither within so many scaled seconds.
        """
        self.wait_for(lambda: not self.running or self._emulator_fell(), "end of its boot", seconds)
        if not self._emulator_fell():
            self._gone()
            return True
        self._warn_broken("the emulator broke a boot that was to fail, the power is cut.")
        self.power_cut()
        return False

    def _ended(self, seconds: float) -> bool:
        if self._process is None:
            return True
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def reboot(self) -> None:
        """Reboot by the guest's own shutdown; needs a machine that was started with -no-reboot."""
        with suppress(Failed):
            # the agent may go down before it answers; a server that stays up is seen by wait_off()
            self.run("systemctl --no-block reboot")
        self.wait_off()
        self.start()

    def _gone(self) -> None:
        if self._process is not None:
            self._process.wait()
        if self._agent is not None:
            self._agent.close()
        if self._monitor is not None:
            self._monitor.close()
        self._agent = None
        self._monitor = None
        for path in (self.files.qmp, self.files.channel):
            path.unlink(missing_ok=True)

    def close(self) -> None:
        """Switch off whatever still runs and remove the sockets; the disks stay."""
        self.power_cut()
        if self._keyboard is not None:
            os.close(self._keyboard)
            self._keyboard = None
        shutil.rmtree(self._sockets, ignore_errors=True)

    def type(self, line: str) -> None:
        """Type a line on the serial console. Failed: the machine was not started with `with_keyboard`."""
        if self._keyboard is None:
            raise Failed(f"{self.name} has no keyboard on its serial console.")
        os.write(self._keyboard, line.encode() + b"\r")

    def with_keyboard(self) -> None:
        """Let `type` work from the next start on."""
        if self._keyboard is None:
            os.mkfifo(self.files.typed)
            # for reading too: QEMU opens its side without waiting and never finds the end
            self._keyboard = os.open(self.files.typed, os.O_RDWR)

    @property
    def console(self) -> str:
        """What the guest wrote to its serial console since the last start."""
        if not self.files.console.exists():
            return ""
        with self.files.console.open("rb") as file:
            file.seek(self._console_start)
            return file.read().decode("utf-8", "replace").replace("\r", "")

    def _with_kernel(self, what: str) -> str:
        """Add what the guest's kernel waits for; one that does not even say so is made to panic and says it then."""
        if not self.running:
            return self._with_console(what)
        try:
            said = self._client().run(BLOCKED, "", KERNEL_SECONDS, lambda: self.running).out
            return self._with_console(f"{what}. Its kernel says:\n{said}\n{self._timers()}")
        except Failed:
            return self._with_panic(what)

    def _with_panic(self, what: str) -> str:
        """Add what a kernel says that nobody can ask: it is made to panic."""
        if not self.running:
            return self._with_console(what)
        timers = self._timers()
        self._panic(KERNEL_SECONDS)
        return self._with_console(f"{what}. Its kernel was made to panic. {timers}", KERNEL_TAIL)

    def _timers(self) -> str:
        """Return where the CPUs of a guest stand and which interrupts of their timers wait, or that nobody says so.

        Where the kernel says that the timer of a CPU does not fire, this tells a lost interrupt of the emulator's from
        a timer that the kernel did not start.
        """
        with suppress(QMPError, OSError, Failed):
            cpus = [int(cpu["cpu-index"]) for cpu in self.qmp("query-cpus-fast")]
            said = [self._said("info registers -a", "IP="), *(self._said(f"info lapic {cpu}") for cpu in cpus)]
            return "\n".join(["Its CPUs:", *said])
        return "QEMU does not say where its CPUs stand."

    def _panic(self, seconds: float) -> None:
        """Make the guest's kernel panic, as far as it still listens; its last words are then on the console."""
        # vm.guest: the panic is followed by what every processor does and which tasks are blocked
        with suppress(QMPError, OSError, Failed):
            self.qmp("inject-nmi")
            self.wait_for(lambda: PANIC_ENDS in self.console, "panic", seconds)

    def _with_console(self, what: str, lines: int = CONSOLE_TAIL) -> str:
        tail = "\n".join(self.console.splitlines()[-lines:])
        log = self.files.directory / "qemu.log"
        output = log.read_text(errors="replace")[-2000:].strip() if log.exists() else ""
        lost = self.accel.name == "tcg" and NO_TIMER_IN_KERNEL in self.console
        what = f"{what}. {NO_TIMER} {self.name}" if lost else what
        return f"{what}. QEMU said: {output or 'nothing'}\nThe console's last lines:\n{tail}"

    def wait_for(self, ready: Callable[[], Any], what: str, seconds: float, poll: float = POLL_SECONDS) -> Any:
        """Poll `ready` every `poll` seconds until it returns something true and return that.

        Raises Failed with the console's last lines when the machine ends or `seconds` (scaled) are over.
        """
        deadline = time.monotonic() + seconds * self.accel.scale
        while True:
            alive = self.running
            if answer := ready():
                return answer
            if not alive:
                raise Failed(self._with_console(f"{self.name} ended while it was waited for {what}"))
            if time.monotonic() > deadline:
                raise Failed(self._with_console(f"{self.name}: no {what} within {seconds * self.accel.scale:.0f} s"))
            time.sleep(poll)

    def wait_console(self, text: str, seconds: float = BOOT_SECONDS) -> None:
        """Wait until the console shows `text`; a boot that the emulator broke is begun again.

        Failed: the machine ended, or the time of one boot is over.
        """
        for _ in range(EMULATOR_TRIES):
            self.wait_for(lambda: text in self.console or self._emulator_fell(), f"{text!r} on the console", seconds)
            if text in self.console:
                return
            self._start_again()
        raise Failed(self._with_console(f"{self.name}: the emulator broke each of {EMULATOR_TRIES} boots"))

    def wait_agent(self, seconds: float = BOOT_SECONDS) -> None:
        """Wait until commands can be run in the guest, at most so many scaled seconds.

        Failed: the machine does not run, or the agent does not answer. It is waited for once in each start: all that
        asks after that fails at once.
        """
        if self._given_up and not self._client().wait_hello(0, lambda: self.running):
            raise Failed(f"{self.name}: no agent since this start, which was waited for before.")
        for _ in range(EMULATOR_TRIES):
            if self._client().wait_hello(seconds * self.accel.scale, self._boots):
                return
            if not self._emulator_fell():
                break
            self._start_again()
        self._given_up = True
        raise Failed(self._with_panic(f"{self.name}: no agent within {seconds * self.accel.scale:.0f} s"))

    def _boots(self) -> bool:
        return self.running and not self._emulator_fell()

    def _start_again(self) -> None:
        """Cut the power of a guest that the emulator broke and start it; where it stood is a warning of the run."""
        self._warn_broken("the emulator broke the boot, started again.")
        self.power_cut()
        self.start()

    def _warn_broken(self, what: str) -> None:
        where = ""
        with suppress(QMPError, OSError, Failed):
            where = " ".join(self._said("info registers -a", "IP=").splitlines())
        self._panic(SOON_SECONDS)
        warnings.warn(self._with_console(f"{self.name}: {what} {where}", KERNEL_TAIL), stacklevel=3)

    def _silent(self) -> bool:
        """Whether firmware started the boot loader and nothing more is said, for longer than any boot is silent."""
        if HANDED_OVER not in self.console:
            return False
        return time.time() - self.files.console.stat().st_mtime > SILENT_SECONDS * self.accel.scale

    def _emulator_fell(self) -> bool:
        """Whether the emulator, not the guest, broke the boot before anything could write to a disk.

        A QEMU before 8.1, where no newer one can be had (host.qemu), now and then runs a stale breakpoint byte after
        the kernel patched its own code on another CPU: "Oops: int3" in the first seconds, before any unit was started.
        On a host that is short of CPU the guest's timer test may run out before an emulated tick comes, and a kernel
        may wait for that tick without an end and without a word; one was seen that still started systemd, which then
        waited for 15 minutes until a third of a second was over that a terminal has for its name.
        """
        console = self.console
        fell = any(words in console for words in EMULATOR_FAULTS) or self._silent()
        return self.accel.name == "tcg" and fell and FIRST_UNIT not in console

    def _client(self) -> agent.Client:
        if self._agent is None:
            raise Failed(f"{self.name} does not run.")
        return self._agent

    def run(
        self,
        command: str | Sequence[str],
        *,
        stdin: str = "",
        seconds: float = COMMAND_SECONDS,
        check: bool = True,
        silent: float = agent.SILENT_SECONDS,
    ) -> agent.Result:
        """Run a shell line or an argument list as root in the guest; with `check` a failure raises Failed.

        The guest may be silent for so many seconds after it should have ended the command. StartedAgain: it was started
        again meanwhile.
        """
        argv = ["/bin/sh", "-c", command] if isinstance(command, str) else list(command)
        limit = seconds * self.accel.scale
        return self._completed(lambda: self._client().run(argv, stdin, limit, lambda: self.running, silent), check)

    def _completed(self, execute: Callable[[], agent.Result], check: bool) -> agent.Result:
        self.wait_agent()
        try:
            result = execute()
        except agent.StartedAgain as error:
            raise agent.StartedAgain(self._with_console(str(error))) from error
        except Failed as error:
            raise Failed(self._with_kernel(str(error))) from error
        if check and result.status != 0:
            ended = "took too long" if result.status is None else f"ended with {result.status}"
            raise Failed(f"{self.name}: {result.argv[-1]!r} {ended}\n{result.out}{result.err}")
        return result

    def wait_command(self, command: str, what: str, seconds: float = BOOT_SECONDS) -> agent.Result:
        """Run a shell line in the guest until it succeeds; return its result. A guest that restarts is asked again."""

        def attempt() -> agent.Result | None:
            try:
                # one that restarts is silent for as long as a boot takes
                result = self.run(command, check=False, silent=BOOT_SECONDS * self.accel.scale)
            except agent.StartedAgain:
                return None
            return result if result.status == 0 else None

        poll = EMULATED_POLL_SECONDS if self.accel.name == "tcg" and seconds > SOON_SECONDS else POLL_SECONDS
        outcome = self.wait_for(attempt, what, seconds, poll)
        assert isinstance(outcome, agent.Result)
        return outcome

    def _said(self, command: str, word: str = "") -> str:
        """Return the lines with `word` of what QEMU's monitor for people says to a command."""
        said = str(self.qmp("human-monitor-command", **{"command-line": command}))
        return "\n".join(line.strip() for line in said.splitlines() if word in line)

    def press(self, *keys: str) -> None:
        """Press keys of the keyboard one after another, by QEMU's names: `spc`, `down`, `ret`, `a`, `shift-a`."""
        for key in keys:
            both = [{"type": "qcode", "data": one} for one in key.split("-")]
            self.qmp("send-key", keys=both)
            time.sleep(KEY_SECONDS)

    def qmp(self, command: str, **arguments: object) -> Any:
        """Send a command to QEMU's monitor, for example `device_del` with id="nvme3". Failed: QEMU does not run."""
        if self._monitor is None:
            raise Failed(f"{self.name} does not run.")
        return self._monitor.command(command, **arguments)
