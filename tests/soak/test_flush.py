# SPDX-License-Identifier: Apache-2.0
"""What a client had acknowledged as durable is there after a power cut that takes the drives' caches with it.

One server writes while QEMU logs what reaches each drive and the guest's kernel traces what it asked of them. From both
come drives as they may be after a power cut at some moment, and the server boots with them.
"""

import json
import random
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.soak.records import (
    ALONE,
    CARELESS,
    ENOUGH,
    NFS,
    POOL,
    READER_PROGRAM,
    WRITER_PROGRAM,
    WRITERS,
    acknowledged,
    losses,
)
from tests.vm.box import SERVER_ADDRESSES, SERVING_SECONDS, Box, credentials
from tests.vm.drives.conftest import EXPORT, FIVE, serving
from vm import blocktrace, writelog
from vm.accel import Accel
from vm.appliance import appliance
from vm.blocktrace import Mark
from vm.disks import BASE, keep
from vm.qemu import Files
from vm.volatile import Cache, Drive, match

# Other moments: another seed.
SEED = 17
POINTS = 24
# At each sixth point the whole server starts and is asked for its health; at the others it only mounts its pool.
SERVED = 6
CLEANUPS = ("millrace-cleanup@measurements", "millrace-cleanup@clone")
NOT_STARTED = ("nfs-server", "smbd", "millrace-share", "millrace-tune", *CLEANUPS)
POOL_ONLY = ("systemd.unit=millrace-storage.target", *(f"systemd.mask={name}.service" for name in NOT_STARTED))
# How much of what was not durable is there: nothing, some writes, some blocks of them, everything.
CACHES = (Cache(0.0), Cache(0.5), Cache(0.5, torn=True), Cache(1.0))
# Of so many times that is chosen at which most may be lost.
TIMES = 50
# The least that each writer makes durable, and the last one alone, and from when on the power is cut.
RECORDS, LAST, FIRST = 60, 10, 3
COMPLAINTS = "corrupt|xfs.*(error|shut)|md/raid.*fail"
IDLE = "! cat /sys/block/md*/md/sync_action | grep -vx idle"
TRACING, TRACE = "/sys/kernel/tracing", "trace.txt"
# Tell the trace's drives from each other (vm.blocktrace): reads of sectors that nothing else reads alone.
READS = {8 * (250_000 + number): drive.serial for number, drive in enumerate(FIVE.drives)}


@dataclass(frozen=True)
class Recording:
    """Drives as they were in the beginning, in `base`, and what was done to them, by serial number."""

    base: Files
    logs: Mapping[str, Path]
    drives: Mapping[str, Drive]
    marks: list[Mark]

    def acknowledged(self, cut: int) -> dict[str, int]:
        """Each writer's last durable record at a time."""
        return acknowledged([mark.text for mark in self.marks if mark.time < cut])

    @property
    def alone(self) -> list[Mark]:
        """The records of the writer that writes when all others have ended."""
        return [mark for mark in self.marks if mark.text.startswith(f"acked {ALONE} ")]

    def moment(self, number: int) -> int:
        """A time when the power is cut.

        By turns right after a random flush was completed, right after a random record was said to be durable, and when
        most writes may be lost of some random times.
        """
        chosen = random.Random(f"{SEED} {number}")
        together = [mark for mark in self.marks if not mark.text.startswith(f"acked {ALONE} ")]
        # each writer has made some records durable
        first = max(mark.time for mark in together if mark.text.endswith(f" {FIRST}"))
        acknowledged = [mark.time + 1 for mark in together if mark.time >= first]
        if number % 3 == 0:
            ended = {flush.completed for drive in self.drives.values() for flush in drive.flushes if flush.completed}
            return chosen.choice([time + 1 for time in sorted(ended) if first < time < acknowledged[-1]])
        if number % 3 == 1:
            return chosen.choice(acknowledged)
        times = [chosen.randrange(first + 1, acknowledged[-1]) for _ in range(TIMES)]
        return max(times, key=lambda time: sum(drive.volatile(time) for drive in self.drives.values()))


def copy(files: Files, target: Path) -> Files:
    """The disks of a machine that is off, once more."""
    target.mkdir(parents=True)
    copied = Files(target, target)
    whole = [files.boot_disk, files.variables, *(files.drive(drive.serial) for drive in FIVE.drives)]
    subprocess.run(["cp", "--sparse=always", "--reflink=auto", *whole, target], check=True)
    keep(files.directory / BASE, target / BASE)
    return copied


def write_records(box: Box) -> None:
    """Let all writers write until each has made enough records durable, and then one alone."""
    box.say(f"mkdir {ENOUGH} {NFS} && mount -t nfs4 -o vers=4.2 {SERVER_ADDRESSES[0]}:{EXPORT} {NFS}")
    box.machine.run("cat > /run/writers.py", stdin=WRITER_PROGRAM)
    for writers, records in (({**WRITERS, CARELESS: POOL}, RECORDS), ({ALONE: POOL}, LAST)):
        box.say(f"rm -f /run/stop {ENOUGH}/*")
        given = json.dumps(writers)
        # what has ended keeps its result
        box.say("systemctl stop writers 2> /dev/null; true")
        run = ["systemd-run", "--unit=writers", "--property=RemainAfterExit=yes"]
        box.machine.run([*run, "python3", "/run/writers.py", given, str(records)])
        ended = "systemctl show -P SubState writers | grep -qxE 'exited|failed'"
        enough = f"test $(ls {ENOUGH} | wc -l) -eq {len(writers)}"
        box.machine.wait_command(f"{ended} || {enough}", "enough records", 1800)
        box.say("touch /run/stop")
        box.machine.wait_command(ended, "the writers' end", 300)
        assert box.say("systemctl show -P Result writers") == "success"


def read_trace(box: Box) -> str:
    """The trace of the guest's kernel since it started."""
    for sector, serial in READS.items():
        drive = f"$(grep -ls {serial} /sys/block/nvme?n1/device/serial | cut -d/ -f4)"
        box.say(f"dd if=/dev/{drive} of=/dev/null iflag=direct bs=4096 count=1 skip={sector // 8}")
    box.say(f"echo 0 > {TRACING}/tracing_on")
    lost = f"cat {TRACING}/per_cpu/cpu*/stats | grep -E '^(overrun|commit overrun|dropped events): [^0]'"
    assert box.machine.run(lost, check=False).out == ""
    return box.say(f"cat {TRACING}/trace", seconds=900)


def make_base(image: Path, accelerator: Accel, directory: Path, target: Path) -> None:
    """Let a server make its pool, and copy its disks when it is off."""
    with serving(FIVE, image, accelerator, directory) as box:
        box.machine.wait_command(IDLE, "the end of the first synchronisation", 1800)
        box.say(f"cd {POOL} && mkdir -m 777 {' '.join([*WRITERS, ALONE, CARELESS])}")
        box.machine.shutdown()
        copy(box.machine.files, target)


def record(image: Path, accelerator: Accel, directory: Path) -> None:
    """Let this server write; what it writes is in logs in the directory, and so is its kernel's trace."""
    with serving(FIVE, image, accelerator, directory, cmdline=blocktrace.CMDLINE, log_writes=True) as box:
        write_records(box)
        (directory / TRACE).write_text(read_trace(box))


def load(base: Path, directory: Path) -> Recording:
    """Read what `record` left."""
    text = (directory / TRACE).read_text()
    trace = blocktrace.parse(text, blocktrace.numbers(text, READS))
    logs = {drive.serial: Files(directory, directory).log(drive.serial) for drive in FIVE.drives}
    drives = {serial: match(writelog.read(log), trace.requests[serial]) for serial, log in logs.items()}
    for serial, drive in drives.items():
        fua = sum(write.request.fua for write in drive.writes)
        print(serial, len(drive.writes), "writes,", fua, "of them FUA,", len(drive.flushes), "flushes")
    marks = [mark for mark in trace.marks if not mark.text.startswith(f"acked {CARELESS}")]
    return Recording(Files(base, base), logs, drives, marks)


@pytest.fixture(scope="module")
def recording(image: Path, accelerator: Accel, tmp_path_factory: pytest.TempPathFactory) -> Recording:
    directory, base = tmp_path_factory.mktemp("recording"), tmp_path_factory.mktemp("base") / "disks"
    make_base(image, accelerator, directory, base)
    record(image, accelerator, directory)
    found = load(base, directory)
    last = found.acknowledged(found.marks[-1].time + 1)
    print("durable records:", last)
    assert min(last[writer] for writer in WRITERS) >= RECORDS
    assert last[ALONE] >= LAST
    return found


@contextmanager
def mounting(image: Path, accelerator: Accel, directory: Path) -> Iterator[Box]:
    """A server that mounts its pool and does nothing else."""
    machine = appliance(FIVE, image, directory, accelerator, credentials=credentials(), cmdline=POOL_ONLY)
    with machine:
        machine.start()
        machine.wait_agent()
        machine.wait_command("systemctl is-active millrace-storage.target", "the pool", SERVING_SECONDS)
        yield Box(machine)


@dataclass(frozen=True)
class Start:
    """How the server is started after a power cut."""

    image: Path
    accelerator: Accel
    directory: Path

    def found(
        self, recording: Recording, drives: Mapping[str, Drive], cut: int, cache: Cache, seed: str, *, serve: bool
    ) -> "After":
        """Start the server with drives as they are after a power cut, and look at everything."""
        files = copy(recording.base, self.directory)
        chosen = random.Random(seed)
        for serial, drive in drives.items():
            print(serial, drive.volatile(cut), "writes may be lost")
            writelog.replay(recording.logs[serial], drive.parts(cut, cache, chosen), files.drive(serial))
        how = serving(FIVE, *self.how) if serve else mounting(*self.how)
        try:
            with how as box:
                return look(box, serve)
        finally:
            shutil.rmtree(self.directory)

    @property
    def how(self) -> tuple[Path, Accel, Path]:
        """What a server is started from."""
        return self.image, self.accelerator, self.directory


@dataclass(frozen=True)
class After:
    """What a server has after its start: files, arrays, findings of health, complaints of its kernel."""

    records: Mapping[str, Mapping[str, list[int | str]]]
    degraded: set[int]
    failed: list[str]
    complaints: str


def look(box: Box, serve: bool) -> After:
    """Look at everything that a power cut may break; health is asked where the server serves."""
    said = box.machine.run(["python3", "-c", READER_PROGRAM, *WRITERS, ALONE, CARELESS], seconds=600)
    failed = []
    if serve:
        box.say("systemctl start millrace-health.service", seconds=600)
        findings = [finding for finding in box.shown("health --json")["findings"] if finding["level"] == "FAIL"]
        failed = [f"{finding['check']} {finding['subject']}: {finding['sentence']}" for finding in findings]
    arrays = [record["array"]["name"] for record in box.pool["arrays"]]
    return After(
        json.loads(said.out),
        {int(box.array_sysfs(name, "md/degraded")) for name in arrays},
        failed,
        box.say(f"journalctl -b -k -o cat --no-pager --case-sensitive=no --grep '{COMPLAINTS}' || true"),
    )


@pytest.fixture
def start(image: Path, accelerator: Accel, tmp_path: Path) -> Start:
    return Start(image, accelerator, tmp_path / "server")


@pytest.mark.parametrize("number", range(POINTS))
def test_acknowledged_records_are_there_after_a_power_cut(recording: Recording, start: Start, number: int) -> None:
    cut, cache = recording.moment(number), CACHES[number % len(CACHES)]
    last = recording.acknowledged(cut)
    print("cut at line", cut, "of the trace,", cache, last)
    after = start.found(recording, recording.drives, cut, cache, f"{SEED} {number} cache", serve=number % SERVED == 0)
    print(after.complaints)
    assert losses(after.records, last) == []
    assert (after.degraded, after.failed, after.complaints) == ({0}, [], "")


def test_drives_that_lose_what_they_flushed_are_found(recording: Recording, start: Start) -> None:
    """The story itself can fail: these drives have nothing of what happened in the second half."""
    ends = recording.marks[-1].time + 1
    early = recording.marks[len(recording.marks) // 2].time
    after = start.found(recording, recording.drives, early, Cache(1.0), f"{SEED} early", serve=False)
    assert losses(after.records, recording.acknowledged(early)) == []
    found = losses(after.records, recording.acknowledged(ends))
    print(found)
    assert {one.partition("/")[0] for one in found} == {*WRITERS, ALONE}


def test_drives_that_ignore_fua_are_found(recording: Recording, start: Start) -> None:
    """The story itself can fail: these drives keep only what was flushed."""
    drives = {
        serial: Drive(
            [replace(write, request=replace(write.request, fua=False)) for write in drive.writes], drive.flushes
        )
        for serial, drive in recording.drives.items()
    }

    def lost(mark: Mark) -> int:
        """How many more writes may be lost than on honest drives, on each of two: the log is a mirror."""
        more = [drives[serial].volatile(mark.time + 1) - one.volatile(mark.time + 1) for serial, one in honest.items()]
        return sorted(more)[-2]

    honest = recording.drives
    cut = max(recording.alone[FIRST:], key=lost).time + 1
    after = start.found(recording, drives, cut, Cache(0.0), f"{SEED} fua", serve=False)
    lost_records = losses(after.records, recording.acknowledged(cut))
    print(lost_records)
    assert lost_records
