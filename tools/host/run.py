# SPDX-License-Identifier: Apache-2.0
"""`tools/run`: build the image, boot it as a virtual server, show how to use it, run until Ctrl-C."""

import argparse
import fcntl
import re
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from host import artefacts, build, qemu
from host.doing import Doing
from host.entry import finish
from host.layout import OUTPUT, REPO, SERVERS, caches
from host.progress import Status, clock
from millrace.system.errors import Failed, Refused
from vm import accel, answers, server
from vm.appliance import appliance
from vm.machine import Machine, free_port
from vm.qemu import FORWARDED_FROM

COCKPIT, NFS, SMB = 9090, 2049, 445
PORTS = {"Cockpit": (COCKPIT, answers.cockpit), "NFS": (NFS, answers.nfs), "SMB": (SMB, answers.smb)}
# NFS is closed until client networks are named: this host is in the network of the ports that are forwarded.
# QEMU's user-mode network sends from an unprivileged port, which NFS exports refuse otherwise.
POLICY = f'[nfs]\nnetworks = ["{FORWARDED_FROM}"]\nprivileged_ports = false\n'.encode()
PASSWORD = re.compile(r"One-time password: (\S+)")
SERVE_SECONDS = 600.0
# The disks' own state: log, drives and what the guest writes.
SPACE = 4 << 30
ROOTHASH = "roothash"


@dataclass
class Phases:
    """Seconds spent on each phase, in order."""

    taken: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Measure the block as phase `name`."""
        begin = time.monotonic()
        yield
        self.taken[name] = time.monotonic() - begin

    def __str__(self) -> str:
        return ", ".join(f"{name} {clock(seconds)}" for name, seconds in self.taken.items())


def prepare(directory: Path, roothash: str, fresh: bool) -> bool:
    """Make the state directory ready; return whether the server starts with new disks."""
    if fresh:
        shutil.rmtree(directory, ignore_errors=True)
    made_from = directory / ROOTHASH
    if not made_from.is_file():
        # A start that broke before the disks were whole left nothing worth keeping.
        shutil.rmtree(directory, ignore_errors=True)
        artefacts.need_space(directory, SPACE)
        directory.mkdir(parents=True)
        made_from.write_text(roothash)
        return True
    if made_from.read_text() != roothash:
        print("These disks were made by another build of the image; --fresh starts over with the one built now.")
    return False


@contextmanager
def alone(directory: Path) -> Iterator[None]:
    """Hold the state directory's lock; raise Refused where the server runs already."""
    directory.parent.mkdir(parents=True, exist_ok=True)
    with directory.with_suffix(".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Refused(f"{directory.name} runs already; stop that one with Ctrl-C first.") from None
        yield


def instructions(ports: dict[int, int], password: str | None) -> str:
    """Return the next steps of the user; `ports` are those of loopback by the guest's."""
    secret = password or "(set at first login; it was shown at the first start only)"
    url = f"https://127.0.0.1:{ports[COCKPIT]}/"
    nfs = f"mount -t nfs4 -o vers=4.2,proto=tcp,port={ports[NFS]} 127.0.0.1:/srv/pool/data /mnt"
    smb = f"mount -t cifs //127.0.0.1/data /mnt -o vers=3.1.1,seal,port={ports[SMB]},username=admin"
    return f"  Cockpit  {url}\n           user admin, password {secret}\n  NFS      {nfs}\n  SMB      {smb}"


def wait_serving(machine: Machine, ports: dict[int, int]) -> None:
    """Wait until every protocol answers; show what the server does meanwhile.

    `ports` are those of loopback by the guest's.
    """
    status, doing = Status(sys.stdout), Doing(machine)
    waiting: dict[str, Callable[[], bool]] = {name: partial(ask, ports[port]) for name, (port, ask) in PORTS.items()}

    def all_answer() -> bool:
        for name in [name for name, ask in waiting.items() if ask()]:
            del waiting[name]
        status.show(f"{doing()} (no {', '.join(waiting)} yet)" if waiting else "serving")
        return not waiting

    try:
        machine.wait_for(all_answer, "answer of NFS, SMB and Cockpit", SERVE_SECONDS)
    finally:
        status.clear()


def _boot(machine: Machine, ports: dict[int, int], phases: Phases) -> None:
    status = Status(sys.stdout)
    with phases.phase("boot"):
        machine.start()
        status.show(f"booting {machine.name}; its console is in {machine.files.console}")
        machine.wait_agent()
    status.clear()
    with phases.phase("provision and serve"):
        wait_serving(machine, ports)


def _stay(machine: Machine) -> None:
    """Wait for Ctrl-C or for the guest's own power-off."""
    while machine.running:
        time.sleep(1)
    print(f"{machine.name} switched itself off.")


def _switch_off(machine: Machine) -> None:
    if machine.running:
        print(f"\nShutting {machine.name} down; its disks stay in {machine.files.directory}.", flush=True)
        # A second Ctrl-C cuts the power.
        with suppress(KeyboardInterrupt):
            machine.shutdown()


def main(arguments: list[str]) -> int:
    """Run a virtual server. Failed: the image cannot be built, or the server does not come up."""
    parser = argparse.ArgumentParser(prog="tools/run", description="Boot the image as a virtual server.")
    parser.add_argument("--server", default="1u12", metavar="NAME", help="a file of tests/servers (default: 1u12)")
    parser.add_argument("--fresh", action="store_true", help="start over with blank disks")
    parser.add_argument("--stock-modules", action="store_true", help="boot the image with Debian's kernel modules")
    chosen = parser.parse_args(arguments)
    for number in (signal.SIGINT, signal.SIGTERM):
        # Also where the caller ignores it, as a shell does for its background jobs.
        signal.signal(number, signal.default_int_handler)
    phases = Phases()
    model = server.find(chosen.server, SERVERS)
    with phases.phase("build"):
        build.build_appliance(stock=chosen.stock_modules)
    name = artefacts.image_name(REPO)
    directory = caches().root / "run" / model.name
    with alone(directory):
        _serve(name, model, directory, chosen.fresh, phases)
    return 0


def _serve(name: str, model: server.Server, directory: Path, fresh: bool, phases: Phases) -> None:
    new = prepare(directory, (OUTPUT / f"{name}.roothash").read_text(), fresh)
    chosen_accel = accel.choose(OUTPUT / f"{name}.efi", caches().root / "accel", qemu=qemu.command(caches()))
    ports = {port: free_port() for port, _ in PORTS.values()}
    machine = appliance(
        model,
        OUTPUT / f"{name}.raw",
        directory,
        chosen_accel,
        credentials={"millrace.provision": b"auto", "millrace.policy": POLICY},
        forwards=ports,
        no_reboot=False,
    )
    with machine:
        try:
            _boot(machine, ports, phases)
            match = PASSWORD.search(machine.console)
            if new and match is None:
                raise Failed(f"{name} serves but showed no one-time password; see {machine.files.console}.")
            print(f"{name} runs as {model.name} ({model.description}), {chosen_accel.name}.")
            print(f"  Time     {phases}")
            print(instructions(ports, match[1] if match else None))
            print("Ctrl-C shuts it down.", flush=True)
            _stay(machine)
        except KeyboardInterrupt:
            _switch_off(machine)


if __name__ == "__main__":
    finish(main)
