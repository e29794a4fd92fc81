# SPDX-License-Identifier: Apache-2.0
"""How QEMU is started, and which failures are those of the emulator and not of the guest."""

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from millrace.system.errors import Failed
from vm.accel import Accel
from vm.agent import Result, StartedAgain
from vm.machine import BLOCKED, NO_TIMER, NO_TIMER_IN_KERNEL, PANIC_ENDS, SILENT_SECONDS, Machine
from vm.qemu import Files

OOPS = "[    1.358032] Oops: int3: 0000 [#1] SMP NOPTI\n"
TIMER = "[    0.060000] Kernel panic - not syncing: IO-APIC + timer doesn't work!  Boot with apic=debug\n"
STANDS = "[  246.148761] INFO: task swapper/0:1 blocked for more than 122 seconds.\n"
FIRMWARE = 'BdsDxe: loading Boot0001 "UEFI Misc Device"\r\nBdsDxe: starting Boot0001 "UEFI Misc Device"\r\n'
NAME_OF_TERMINAL = "\x1bP+q6E616D65\x1b\\"
UNIT = "[[0;32m  OK  [0m] Started systemd-journald.service\n"


def test_machine_is_a_process_group_in_the_session_of_its_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C does not reach it; in a session of its own its priority would have no effect."""
    monkeypatch.setattr(Machine, "_connect", lambda _: True)
    with Machine("box", tmp_path, Accel("tcg"), lambda _: ["sleep", "60"]) as machine:
        machine.start()
        assert os.getpgid(machine.pid) == machine.pid
        assert os.getsid(machine.pid) == os.getsid(0)


@pytest.mark.parametrize(
    ("accel", "console", "fell"),
    [
        ("tcg", OOPS, True),
        ("tcg", TIMER, True),
        ("tcg", STANDS, True),
        ("tcg", UNIT + STANDS, False),
        ("kvm", OOPS, False),
        ("tcg", UNIT + OOPS, False),
        ("tcg", "[    1.3] Oops: general protection fault\n", False),
        ("tcg", "", False),
    ],
)
def test_only_early_faults_under_emulation_are_restarted(tmp_path: Path, accel: str, console: str, fell: bool) -> None:
    machine = Machine("box", tmp_path, Accel(accel), lambda files: [])
    machine.files.console.write_text(console)
    assert machine._emulator_fell() is fell


@pytest.mark.parametrize(
    ("accel", "console", "age", "fell"),
    [
        ("tcg", FIRMWARE, SILENT_SECONDS + 1, True),
        ("tcg", FIRMWARE, SILENT_SECONDS - 60, False),
        ("kvm", FIRMWARE, SILENT_SECONDS + 1, False),
        ("tcg", FIRMWARE + NAME_OF_TERMINAL, SILENT_SECONDS + 1, True),
        ("tcg", FIRMWARE + NAME_OF_TERMINAL, SILENT_SECONDS - 60, False),
        ("tcg", FIRMWARE + "Booting initrd of Millrace.\n", SILENT_SECONDS + 1, True),
        ("tcg", FIRMWARE + "Booting initrd of Millrace.\n" + UNIT, SILENT_SECONDS + 1, False),
        ("tcg", "", SILENT_SECONDS + 1, False),
    ],
)
def test_boot_that_falls_silent_before_the_first_unit_is_restarted(
    tmp_path: Path, accel: str, console: str, age: float, fell: bool
) -> None:
    machine = Machine("box", tmp_path, Accel(accel), lambda files: [])
    machine.files.console.write_text(console)
    written = time.time() - age
    os.utime(machine.files.console, (written, written))
    assert machine._emulator_fell() is fell


def test_boot_that_the_emulator_broke_is_begun_again_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Machine, "_connect", lambda _: True)
    consoles = iter([TIMER, "millrace login:"])

    with Machine("box", tmp_path, Accel("tcg"), lambda files: says(files, next(consoles), "sleep 60")) as machine:
        machine.start()
        with pytest.warns(UserWarning, match="the emulator broke the boot"):
            machine.wait_console("login:", 20)
        assert "IO-APIC" not in machine.console


@pytest.mark.parametrize(("console", "then"), [(TIMER, "sleep 60"), (STANDS, "sleep 60"), (TIMER, "true")])
def test_boot_that_was_to_fail_and_that_the_emulator_broke_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, console: str, then: str
) -> None:
    """A panic of the emulator's, too, which switches the machine off."""
    monkeypatch.setattr(Machine, "_connect", lambda _: True)
    with Machine("box", tmp_path, Accel("tcg"), lambda files: says(files, console, then)) as machine:
        machine.start()
        with pytest.warns(UserWarning, match="a boot that was to fail"):
            assert machine.boot_ended(20) is False
        assert not machine.running


def test_boot_that_was_to_fail_and_did_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Machine, "_connect", lambda _: True)
    with Machine("box", tmp_path, Accel("tcg"), lambda files: says(files, "panic", "true")) as machine:
        machine.start()
        assert machine.boot_ended(20) is True


def test_boot_that_goes_on_is_no_failed_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Machine, "_connect", lambda _: True)
    with Machine("box", tmp_path, Accel("tcg"), lambda files: says(files, UNIT, "sleep 60")) as machine:
        machine.start()
        with pytest.raises(Failed, match="no end of its boot"):
            machine.boot_ended(1)


def says(files: Files, text: str, then: str) -> list[str]:
    """The command of a machine that prints something to its console and goes on with another command."""
    files.console.write_bytes(files.console.read_bytes() if files.console.exists() else b"")
    return ["sh", "-c", f'printf "%s" "$0" >> {files.console}; exec {then}', text]


class Agent:
    """An agent that answers only the commands of `answers`, by their argument list."""

    def __init__(self, answers: dict[tuple[str, ...], str]) -> None:
        self.answers = answers

    def wait_hello(self, seconds: float, alive: Callable[[], bool]) -> bool:
        return True

    def run(
        self, argv: Sequence[str], stdin: str, seconds: float, alive: Callable[[], bool], silent: float = 60
    ) -> Result:
        if tuple(argv) not in self.answers:
            raise Failed(f"The guest went away or hangs while it ran: {argv[0]}")
        return Result(tuple(argv), 0, self.answers[tuple(argv)], "")

    def close(self) -> None:
        """It has no connection."""


REGISTERS = "CPU#0\r\nRIP=ffffffff81aae73f RFL=00000292 HLT=1\r\nXMM00=0\r\n"
ASKED = ["query-cpus-fast", "info registers -a", "info lapic 0"]
LAPIC = "dumping local APIC state for CPU 0\r\nIRR\t 236 \r\n"


def hanging(
    directory: Path,
    monkeypatch: pytest.MonkeyPatch,
    answers: dict[tuple[str, ...], str],
    accel: str = "tcg",
    console: str = "",
) -> list[str]:
    """Run a command in a machine that does not answer it: what was sent to QEMU, and last what the failure says."""
    sent: list[str] = []

    def monitor(_: Machine, command: str, **arguments: object) -> object:
        sent.append(str(arguments.get("command-line", command)))
        if command == "inject-nmi":
            panic = f"md1_raid5 is blocked\n---[ {PANIC_ENDS} - not syncing: NMI ]---\n"
            machine.files.console.write_text(console + panic)
        return {"query-cpus-fast": [{"cpu-index": 0}], "info registers -a": REGISTERS, "info lapic 0": LAPIC}.get(
            sent[-1]
        )

    monkeypatch.setattr(Machine, "_connect", lambda _: True)
    monkeypatch.setattr(Machine, "qmp", monitor)
    with Machine("box", directory, Accel(accel), lambda _: ["sleep", "60"]) as machine:
        machine.start()
        machine.files.console.write_text(console)
        monkeypatch.setattr(machine, "_agent", Agent(answers))
        with pytest.raises(Failed) as failed:
            machine.run(["cat", "/proc/mdstat"])
    return [*sent, str(failed.value)]


def test_guest_that_hangs_is_made_to_say_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    *sent, said = hanging(tmp_path, monkeypatch, {})
    assert sent == [*ASKED, "inject-nmi"]
    assert "hangs while it ran: cat" in said and "md1_raid5 is blocked" in said
    assert "\nRIP=ffffffff81aae73f RFL=00000292 HLT=1\n" in said and "IRR\t 236" in said and "XMM" not in said
    assert NO_TIMER not in said


@pytest.mark.parametrize(("accel", "lost"), [("tcg", True), ("kvm", False)])
@pytest.mark.parametrize("answers", [{}, {tuple(BLOCKED): "nothing waits\n"}])
def test_emulated_guest_whose_timer_stopped_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, accel: str, lost: bool, answers: dict[tuple[str, ...], str]
) -> None:
    console = f"[  497.045208] rcu: \t{NO_TIMER_IN_KERNEL}1 timer-softirq=15856\n"
    *_, said = hanging(tmp_path, monkeypatch, answers, accel, console)
    assert (f"{NO_TIMER} box" in said) is lost


class Nobody(Agent):
    """No agent comes; `waited` are the seconds that each caller had for it."""

    def __init__(self) -> None:
        super().__init__({})
        self.waited: list[float] = []

    def wait_hello(self, seconds: float, alive: Callable[[], bool]) -> bool:
        self.waited.append(seconds)
        return False


def test_agent_that_does_not_come_is_waited_for_once_in_each_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    panics: list[str] = []
    monkeypatch.setattr(Machine, "_connect", lambda _: True)
    monkeypatch.setattr(Machine, "_panic", lambda _, seconds: panics.append(f"within {seconds}"))
    with Machine("box", tmp_path, Accel("tcg"), lambda _: ["sleep", "60"]) as machine:
        for _ in range(2):
            machine.start()
            nobody = Nobody()
            monkeypatch.setattr(machine, "_agent", nobody)
            with pytest.raises(Failed, match=r"no agent within 600 s\. Its kernel was made to panic"):
                machine.run("true")
            with pytest.raises(Failed, match="waited for before"):
                machine.run("true")
            assert nobody.waited == [600, 0]
            machine.power_cut()
    assert len(panics) == 2


class Restarts(Agent):
    """An agent of a guest that is started again while the first command is asked; its boot takes 500 seconds."""

    def run(
        self, argv: Sequence[str], stdin: str, seconds: float, alive: Callable[[], bool], silent: float = 60
    ) -> Result:
        if not self.answers and silent > 500:
            self.answers[tuple(argv)] = "the next boot\n"
            raise StartedAgain(f"The guest was started again while it ran: {argv[0]}")
        return super().run(argv, stdin, seconds, alive, silent)


def test_guest_that_is_started_again_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Machine, "_connect", lambda _: True)
    with Machine("box", tmp_path, Accel("tcg"), lambda _: ["sleep", "60"]) as machine:
        machine.start()
        monkeypatch.setattr(machine, "_agent", Restarts({}))
        assert machine.wait_command("cat /proc/sys/kernel/random/boot_id", "the next boot", 60).out == "the next boot\n"


def test_guest_that_answers_something_else_lives_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = hanging(tmp_path, monkeypatch, {tuple(BLOCKED): "cat waits for md_wait\n"})
    assert sent[:-1] == ASKED
    assert "hangs while it ran: cat" in sent[-1] and "cat waits for md_wait" in sent[-1]


def test_lines_are_typed_into_the_pipe_that_qemu_reads(tmp_path: Path) -> None:
    with Machine("box", tmp_path, Accel("tcg"), lambda _: []) as machine:
        with pytest.raises(Failed, match="no keyboard"):
            machine.type("key")
        machine.with_keyboard()
        machine.with_keyboard()
        machine.type("key")
        descriptor = os.open(machine.files.typed, os.O_RDONLY | os.O_NONBLOCK)
        try:
            assert os.read(descriptor, 10) == b"key\r"
        finally:
            os.close(descriptor)
