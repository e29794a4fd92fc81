# SPDX-License-Identifier: Apache-2.0
"""The benchmark in a virtual server: its figures mean nothing there; that it measures, tells and cleans up does."""

import base64
import csv
import io
import json
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import openpyxl

from millrace.system.jobs.job import KILLED
from tests.unit.measure.bench.html import Page
from tests.vm.box import Box
from tests.vm.opened import in_chromium
from vm.agent import Result
from vm.machine import Machine

# The shortest there is. A client of an earlier story may not be forgotten yet.
SHORT = "--seconds 1 --repeats 1 --size 64M --with-clients"


def run(box: Box, options: str) -> dict[str, Any]:
    """Make a run and return it; every workload of it has its figures."""
    box.machine.wait_command("! grep -E 'resync|recovery|check' /proc/mdstat", "arrays in sync", 900)
    last = json.loads(box.millrace(f"bench run {SHORT} {options} --json", seconds=900).out.splitlines()[-1])
    assert (last["state"], last["what"]) == ("done", "all is measured")
    made: dict[str, Any] = box.shown(f"bench show {last['run']} --json")
    assert "emulated" in made["labels"]
    for rung in climbed(made):
        assert (rung["state"], rung["reason"]) == ("done", None), rung["id"]
        assert all(series["median"] > 0 for series in rung["series"]), rung["id"]
        assert rung["series"], rung["id"]
        assert rung["diagnosis"].endswith("."), rung["id"]
    kept = box.say(f"cd /var/lib/millrace/bench/{made['id']} && ls raw/*.json.gz").splitlines()
    assert sorted(kept) == sorted(path for rung in made["rungs"] for path in rung["raw"])
    return made


def climbed(made: dict[str, Any]) -> list[dict[str, Any]]:
    return [rung for rung in made["rungs"] if rung["state"] != "skipped"]


def places(made: dict[str, Any]) -> set[str]:
    """Where a run measured: `L2/smb`."""
    return {f"{rung['layer']}/{rung['target']}" for rung in climbed(made)}


def nothing_is_left(box: Box) -> None:
    """No file, export, mount, process or port of a benchmark."""
    assert box.say("ls -A /srv/pool | grep millrace-bench; exportfs -s | grep millrace-bench; true") == ""
    assert box.say("grep millrace-bench /proc/mounts; pgrep -u millrace-bench; true") == ""
    assert box.say("ss -Htln | grep :44500; true") == ""
    assert "millrace-bench" not in str(box.failed_units())


def exports_open_again(box: Box, made: dict[str, Any], directory: Path) -> None:
    """Every format says what the run says, and the page asks nobody for anything."""
    done = [rung["id"] for rung in made["rungs"]]
    assert json.loads(exported(box, made, "json")) == made
    lines = list(csv.DictReader(io.StringIO(exported(box, made, "csv").decode())))
    assert {line["rung"] for line in lines} == set(done)
    book = openpyxl.load_workbook(io.BytesIO(exported(box, made, "xlsx")))
    assert {row[0] for row in book["Summary"].iter_rows(min_row=2, max_col=1, values_only=True)} >= set(done)
    text = exported(box, made, "html").decode()
    page = Page(text)
    assert (page.loaded, page.bars) == ([], len(done))
    assert "url(" not in text and "@import" not in text
    file = directory / "report.html"
    file.write_text(text)
    opened = in_chromium(file)
    assert (opened.requests, opened.complaints) == ([file.as_uri()], [])
    assert opened.drawn == text.count("<svg") > 0


def exported(box: Box, made: dict[str, Any], kind: str) -> bytes:
    file = f"/run/report.{kind}"
    box.millrace(f"bench export {made['id']} --format {kind} {file}")
    return base64.b64decode(box.say(f"base64 {file}; rm {file}"))


def refused(box: Box, command: str, words: str) -> None:
    """A command ends with 1 and one sentence."""
    result = box.millrace(command, check=False)
    assert (result.status, len(result.err.splitlines())) == (1, 1), result.err
    assert words in result.err


def a_full_run_is_estimated_before_it_starts(box: Box) -> None:
    """Start a long one and leave it on."""
    said = box.millrace(f"bench start --full --layer L2 --profile seq {SHORT} --seconds 60").out.splitlines()
    assert "1 repeats of 60 s: about 0:" in said[0]
    assert "in the pool, writes about" in said[1]
    assert "is running; follow it with" in said[-1]


def kill(box: Box) -> None:
    """Kill the run that is on, and wait until systemd has done what comes after it."""
    box.say("systemctl kill --signal=KILL --kill-whom=main millrace-bench.service")
    over = "systemctl show -P ActiveState millrace-bench.service | grep -x -e inactive -e failed"
    box.machine.wait_command(over, "the clean-up", 300)


def a_killed_run_leaves_nothing(box: Box) -> None:
    """Kill the run that is on at some moment of it."""
    box.machine.wait_command("exportfs -s | grep millrace-bench", "a loopback export", 300)
    time.sleep(random.uniform(0, 15))
    kill(box)
    nothing_is_left(box)
    newest = box.shown("bench list --json")["runs"][0]
    assert (newest["state"], newest["reason"]) == ("interrupted", KILLED)


def a_read_only_pool_is_refused(box: Box) -> None:
    # a mount of its own: that of the pool is always written by the image with the records of NFS clients
    box.say("mount --bind /srv/pool /srv/pool && mount -o remount,bind,ro /srv/pool")
    try:
        refused(box, f"bench start {SHORT}", "/srv/pool is read-only")
    finally:
        box.say("umount /srv/pool")


def leave_a_run_behind(box: Box) -> None:
    """What a run has in the pool and on the boot drive when the power goes, durable there."""
    box.say("mkdir -p /var/lib/millrace/bench /srv/pool/.millrace-bench/common")
    box.say("touch /srv/pool/.millrace-bench/common/f.0.0 && sync -f /srv/pool && sync -f /var/lib/millrace")


def cleaned_up_at_boot(box: Box) -> None:
    """The clean-up ran in this boot and removed what the power cut left; it removes an export, too."""
    unit = "millrace-cleanup@measurements.service"
    ended = f"systemctl show -P ExecMainExitTimestampMonotonic {unit} | grep -qvx 0"
    box.machine.wait_command(ended, "the clean-up", 300)
    assert box.say(f"systemctl show -P Result {unit}") == "success"
    nothing_is_left(box)
    box.say("mkdir -p /srv/pool/.millrace-bench/common && touch /srv/pool/.millrace-bench/common/f.0.0")
    box.say("exportfs -o ro,fsid=77 127.0.0.1:/srv/pool/.millrace-bench")
    box.say(f"systemctl start --wait {unit}")
    nothing_is_left(box)


# Clients

PROGRAM = "/run/millrace-bench.pyz"


def give_program(box: Box, client: Machine) -> None:
    """Download the program for clients, made for the shortest work by hand."""
    options = "--profile fsync --size 64M --seconds 1 --repeats 1"
    box.millrace(f"client bench {options} {PROGRAM}")
    client.run(f"base64 -d > {PROGRAM}", stdin=box.say(f"base64 {PROGRAM}; rm {PROGRAM}"))


@contextmanager
def listening(client: Machine, server: str) -> Iterator[str]:
    """The program waits for the server; the token that it shows."""
    shown = "--property=StandardOutput=truncate:/run/listen.out"
    client.run(f"systemd-run --collect --unit=listen {shown} python3 {PROGRAM} --listen {server}")
    try:
        client.wait_command("ss -Htln | grep :8764 && grep ^token: /run/listen.out", "the program on the client", 120)
        yield client.run("sed -n 's/^token: //p' /run/listen.out").out
    finally:
        client.run("systemctl stop listen", seconds=300)
    assert client.run("ls -d /run/millrace-bench; grep millrace-bench /proc/mounts", check=False).out == ""


def add(box: Box, address: str, token: str, check: bool = True) -> Result:
    """Add a client with the token that its program shows."""
    words = ["millrace", "bench", "clients", "add", address, "--token-stdin"]
    return box.machine.run(words, stdin=token, seconds=300, check=check)


THIEF = Path(__file__).parent.parent / "fakes/fio_server.py"


@contextmanager
def thief(client: Machine, address: str) -> Iterator[None]:
    """A `fio --server` on the client that asks whoever comes for the server's passwords; nobody comes."""
    client.run("cat > /run/fio_server.py", stdin=THIEF.read_text())
    client.run(f"systemd-run --collect --unit=thief python3 /run/fio_server.py {address} 8765 /etc/shadow /run/stolen")
    try:
        client.wait_command("ss -Htln | grep :8765", "the fake fio on the client", 120)
        yield
        assert client.run("cat /run/stolen").out == ""
        # the same fake, and the client's own fio: it would have taken what it asked for
        client.run("cat > /run/x.fio", stdin="[x]\nioengine=null\nsize=4k\n")
        client.run(f"timeout 60 fio --client=ip:{address},8765 /run/x.fio", check=False)
        assert "root:" in client.run("tr -cd '[:print:]' < /run/stolen").out
    finally:
        client.run("systemctl stop thief; rm -f /run/stolen /run/fio_server.py /run/x.fio")


def a_killed_run_leaves_nothing_on_the_client(box: Box, client: Machine, address: str) -> None:
    box.millrace(f"bench start {SHORT} --layer L3 --client {address} --profile seq --seconds 60")
    client.wait_command("systemctl is-active millrace-bench-load.service", "fio on the client", 300)
    kill(box)
    client.wait_command("! systemctl is-active millrace-bench-load.service", "the end of fio", 120)
    client.wait_command("! grep /run/millrace-bench /proc/mounts", "no mount", 300)
    nothing_is_left(box)


def by_hand(box: Box, client: Machine, where: str) -> dict[str, Any]:
    """Measure in a mounted share on the client; the run that it becomes."""
    before = client.run(f"ls -A {where}").out
    client.run(f"python3 {PROGRAM} {where} --output /run/by-hand.json", seconds=900)
    assert client.run(f"ls -A {where}").out == before
    box.machine.run("cat > /run/by-hand.json", stdin=client.run("cat /run/by-hand.json").out)
    taken: dict[str, Any] = box.shown("bench clients take /run/by-hand.json --json")
    return taken
