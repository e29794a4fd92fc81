# SPDX-License-Identifier: Apache-2.0
"""Both drives of the log are pulled while files are written: the pool comes back on new ones, old files unchanged."""

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.vm.blocks import BLOCK, BLOCKS
from tests.vm.box import Box
from tests.vm.drives.conftest import FIVE, serving
from vm.accel import Accel
from vm.agent import Result
from vm.server import Drive

SIZE = FIVE.drives[0].size // 2


def log_drive(serial: str) -> Drive:
    """A drive that is clearly smaller than those of the data."""
    return dataclasses.replace(FIVE.drives[0], serial=serial, size=SIZE)


OLD, NEW = ["MRL00000000001", "MRL00000000002"], ["MRL00000000003", "MRL00000000004"]
SERVER = dataclasses.replace(FIVE, drives=(*FIVE.drives, *(log_drive(serial) for serial in OLD)))
LOG_MD = "/sys/class/block/$(basename $(readlink -f /dev/md/millrace-log))/md"
FILES = 40
SUMS = "/var/lib/old.sha256"
OLD_FILES = f"""
import os
{BLOCKS}
for number in range({FILES}):
    os.makedirs(f"/srv/pool/old/{{number % 5}}", exist_ok=True)
    with open(f"/srv/pool/old/{{number % 5}}/{{number}}", "wb") as file:
        file.write(b"".join(block(number * 16 + one) for one in range(16)))
"""
WRITER = f"""
import os
{BLOCKS}
os.makedirs("/srv/pool/new", exist_ok=True)
log = open("/run/written", "w")
number = 0
while True:
    file = os.open(f"/srv/pool/new/{{number}}", os.O_CREAT | os.O_WRONLY, 0o644)
    os.write(file, block(number))
    os.fsync(file)
    os.close(file)
    print(number, file=log, flush=True)
    number += 1
"""
CATCHER, CAUGHT = "/run/catch.py", "/run/caught"
CATCH = f"""
import os, pathlib, signal
while True:
    for name in pathlib.Path("/proc").glob("[0-9]*/comm"):
        try:
            found = name.read_text().strip() == "xfs_repair"
        except OSError:
            continue
        if found:
            os.kill(int(name.parent.name), signal.SIGSTOP)
            pathlib.Path("{CAUGHT}").write_text(name.parent.name)
            raise SystemExit
"""
# A drive of the administrator. XFS may keep the name without the data; ext4 writes such a file when it is closed.
STICK = "/var/lib/stick"
IMAGE = "/mnt/metadata.image"


@pytest.fixture(scope="module")
def box(image: Path, accelerator: Accel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    with serving(SERVER, image, accelerator, tmp_path_factory.mktemp("rescue")) as box:
        yield box


def rescue(box: Box, *words: str, check: bool = True) -> Result:
    """`millrace pool rescue`, as a script calls it."""
    done = box.machine.run(["millrace", "pool", "rescue", *words], seconds=900, check=False)
    print(words, done.status, done.out, done.err)
    assert not check or done.status == 0
    return done


def step(box: Box, name: str, *more: str) -> dict[str, Any]:
    """The state after a step that was confirmed."""
    return dict(json.loads(rescue(box, "--step", name, "--yes", "--json", *more).out))


def log_record(box: Box) -> dict[str, Any]:
    (found,) = [one for one in box.pool["arrays"] if one["array"]["name"] == "log"]
    return dict(found)


def is_mounted(box: Box) -> bool:
    return box.machine.run("findmnt --mountpoint /srv/pool", check=False).status == 0


@pytest.fixture(scope="module")
def lost(box: Box) -> Box:
    """Old files are on their drives, others are being written, and both drives of the log are gone."""
    assert {member["serial"] for member in log_record(box)["members"]} == set(OLD)
    box.machine.wait_command(f"grep -qx idle {LOG_MD}/sync_action", "the end of the first synchronisation", 600)
    refused = rescue(box, "--json", check=False)
    assert refused.status == 1 and "RAID1 log runs, so that there is nothing to rescue" in refused.err
    box.machine.run(["python3", "-c", OLD_FILES], seconds=600)
    # a freeze writes back what is in the log alone
    box.say("sync; fsfreeze --freeze /srv/pool; fsfreeze --unfreeze /srv/pool")
    box.say(f"cd /srv/pool && find old -type f | sort | xargs sha256sum > {SUMS}; sync", seconds=300)
    box.machine.run("cat > /run/writer.py", stdin=WRITER)
    box.say("systemd-run --unit=written python3 /run/writer.py")
    box.machine.wait_command("test $(wc -l < /run/written) -ge 10", "ten files synced", 300)
    # the hot spare would have the log within seconds of the first
    box.say(f"echo frozen > {LOG_MD}/sync_action")
    box.machine.pull(*OLD)
    box.machine.wait_command("! systemctl is-active written.service", "the writer to fail", 300)
    box.machine.wait_command("! touch /srv/pool/probe", "XFS to shut down", 300)
    return box


def test_health_names_the_rescue_after_the_drives_themselves(lost: Box) -> None:
    found = [one for one in lost.shown("health --json")["findings"] if one["check"] == "arrays"]
    (log,) = [one for one in found if one["subject"] == "log" and one["level"] == "FAIL"]
    print(log)
    assert log["todo"].startswith("Put the missing drives back in")
    assert log["todo"].endswith("If they do not come back: millrace pool rescue")


def test_what_may_be_lost_is_shown_before_anything_is_done(lost: Box) -> None:
    state = json.loads(rescue(lost, "--json").out)
    assert "only in the log are lost" in state["losses"][0]
    assert (state["next"], state["journal"]) == ("stop", None)
    assert rescue(lost).out.startswith("What may be lost:")
    refused = rescue(lost, "--step", "repair", "--yes", check=False)
    assert refused.status == 1 and "'stop' comes before 'repair'" in refused.err
    asked = rescue(lost, "--step", "stop", check=False)
    assert asked.status == 2 and "no terminal to confirm this" in asked.err
    assert is_mounted(lost)


def test_image_is_whole_when_the_power_goes_after_it(lost: Box) -> None:
    state = step(lost, "stop")
    assert (state["next"], is_mounted(lost)) == ("image", False)
    lost.say(f"truncate --size=300M {STICK} && mkfs.xfs -q {STICK} && mkdir -p /mnt")
    lost.say(f"mount -o loop {STICK} /mnt && sync")
    step(lost, "image", "--image", IMAGE)
    look = f"stat -c %a {IMAGE}; head -c 4 {IMAGE}; sha256sum {IMAGE}"
    output = lost.say(look)
    assert output.startswith("600\nXFSM")
    lost.machine.power_cut()
    lost.machine.start()
    lost.wait_booted()
    lost.say(f"mount -o loop {STICK} /mnt")
    assert lost.say(look) == output
    lost.say("umount /mnt")


def test_pool_is_judged_without_being_written(lost: Box) -> None:
    state = step(lost, "judge")
    assert "xfs_repair needs at least" in {one["name"]: one["need"] for one in state["steps"]}["repair"]
    assert state["journal"]["size"]["inodes"] >= FILES
    judgement = state["journal"]["judgement"]
    assert judgement["note"] is None and judgement["files"] >= FILES and judgement["complete"]
    assert lost.say("losetup --list --noheadings; ls /run/millrace/verify-rescue") == ""


def test_new_log_is_not_mounted_before_the_repair(lost: Box) -> None:
    for old, new in zip(OLD, NEW, strict=True):
        lost.machine.replace(old, log_drive(new))
    before = log_record(lost)
    state = step(lost, "log", "--with", NEW[0], "--with", NEW[1])
    assert state["next"] == "repair" and lost.members_by_serial("log") == set(NEW)
    assert log_record(lost) == before
    lost.machine.run("systemctl start srv-pool.mount", check=False, seconds=300)
    assert lost.say("systemctl show -P ConditionResult srv-pool.mount") == "no"
    assert not is_mounted(lost)


def test_rescue_waits_for_its_next_step_after_a_power_cut(lost: Box) -> None:
    lost.machine.power_cut()
    lost.machine.start()
    lost.wait_booted()
    assert not is_mounted(lost)
    findings = [one for one in lost.shown("health --json")["findings"] if one["check"] == "pool"]
    assert "millrace pool rescue" in [one["todo"] for one in findings]
    assert json.loads(rescue(lost, "--json").out)["next"] == "repair"
    # what was confirmed before is confirmed again
    assert lost.shown("pool rescue --status --json")["work"] is None


def repair_from_a_terminal(box: Box) -> None:
    """A terminal confirms the repair and follows it; xfs_repair is stopped as soon as it runs."""
    box.machine.run(f"cat > {CATCHER}", stdin=CATCH)
    box.say(f"systemctl reset-failed; rm -f {CAUGHT}; systemd-run --unit=catcher python3 {CATCHER}")
    box.say("systemd-run --unit=terminal millrace pool rescue --step repair --yes")
    box.machine.wait_command(f"test -s {CAUGHT}", "xfs_repair to run", 300)


def test_killed_repair_says_why(lost: Box) -> None:
    repair_from_a_terminal(lost)
    lost.say(f"kill -KILL $(cat {CAUGHT})")
    lost.machine.wait_command("systemctl is-failed terminal.service", "the end of the repair", 300)
    status = lost.shown("pool rescue --status --json")
    assert status["work"]["state"] == "failed" and "xfs_repair ended with status -9" in status["work"]["error"]
    assert status["rescue"]["next"] == "repair" and not is_mounted(lost)


def test_repair_goes_on_when_its_terminal_dies(lost: Box) -> None:
    repair_from_a_terminal(lost)
    lost.say("systemctl kill --signal=KILL terminal.service")
    lost.machine.wait_command("! systemctl is-active terminal.service", "the end of the terminal", 60)
    assert "millrace-rescue.service" in lost.say(f"cat /proc/$(cat {CAUGHT})/cgroup")
    work = lost.shown("pool rescue --status --json")["work"]
    assert (work["step"], work["state"]) == ("repair", "running")
    assert "rescue" in [job["name"] for job in lost.shown("status --json")["jobs"]]
    refused = rescue(lost, "--step", "serve", "--yes", check=False)
    assert refused.status == 1 and "the step 'repair' is running" in refused.err
    lost.say(f"kill -CONT $(cat {CAUGHT})")
    # another terminal follows the same step to its end
    state = step(lost, "repair")
    assert state["next"] == "serve" and state["work"]["id"] == work["id"] and not is_mounted(lost)
    assert {member["serial"] for member in log_record(lost)["members"]} == set(NEW)
    state = step(lost, "serve")
    print(lost.say("journalctl -b -k -o cat --grep XFS --no-pager; ls -la /srv/pool /srv/pool/lost+found 2>&1; true"))
    assert state["next"] is None and state["journal"]["ended"]
    lost.wait_serving()


def check_files(box: Box) -> None:
    box.say("echo 3 > /proc/sys/vm/drop_caches")
    assert box.machine.run(f"cd /srv/pool && sha256sum --check --quiet {SUMS}", seconds=600).out == ""


def test_old_files_are_equal_byte_for_byte_and_new_ones_can_be_written(lost: Box) -> None:
    check_files(lost)
    assert lost.say(f"wc -l < {SUMS}") == str(FILES)
    lost.say(f"head -c {BLOCK} /dev/urandom > /srv/pool/after; sync; sha256sum /srv/pool/after > /var/lib/after.sha256")


@pytest.mark.parametrize("boot", [1, 2])
def test_pool_is_healthy_after_a_reboot(lost: Box, boot: int) -> None:
    lost.machine.reboot()
    lost.wait_serving()
    lost.wait_booted()
    said = lost.say("journalctl -b -u millrace-assemble -o cat")
    assert "RAID1 log: started, 2 members" in said and "without" not in said
    check_files(lost)
    assert "OK" in lost.say("sha256sum --check /var/lib/after.sha256")
    findings = lost.shown("health --json")["findings"]
    assert {finding["level"] for finding in findings if finding["check"] in ("arrays", "pool")} == {"OK"}, findings
    assert lost.failed_units() == []
    refused = rescue(lost, "--json", check=False)
    assert refused.status == 1 and "nothing to rescue" in refused.err
