# SPDX-License-Identifier: Apache-2.0
"""Records that are durable one by one, written while drives leave, and what is left of them after a revival."""

from collections.abc import Sequence

from tests.vm.blocks import BLOCK, BLOCKS, writer
from tests.vm.box import Box
from tests.vm.drives.conftest import EXPORT, MD

FILE, LOG = f"{EXPORT}/records", "/run/records"
WRITER = writer(FILE, LOG, 1 << 14)
READER = f"""
import sys
{BLOCKS}
with open("{FILE}", "rb") as file:
    differ = [number for number in range(int(sys.argv[1]) + 1) if file.read({BLOCK}) != block(number)]
print(len(differ), differ[:20])
"""


def show(box: Box) -> None:
    print(box.say("cat /proc/mdstat; cat /var/lib/millrace/failures.jsonl /run/millrace/stopped.json; true"))
    print(box.say("for d in /dev/disk/by-partlabel/millrace-data-*; do echo $d; mdadm --examine $d | "
                  "grep -E 'Events|Update Time|Role|Array State'; done; true"))  # fmt: skip
    units = ("assemble", "readd", "revive", "failures", "unclean")
    print(box.say(f"journalctl -b -o short-precise {' '.join(f'-u millrace-{one}' for one in units)} | tail -n 60"))
    print(box.say("journalctl -k -b -o short-precise --grep 'md[0-9]*:|raid' | tail -n 40; true"))


def wait_in_sync(box: Box, md: str = MD) -> None:
    box.machine.wait_command(
        f"grep -qx 0 {md}/degraded && ! grep -E 'resync|recovery|check|repair' /proc/mdstat", "arrays in sync", 900
    )


def write(box: Box) -> None:
    box.machine.run("cat > /run/writer.py", stdin=WRITER)
    box.say(f"rm -f {LOG}; systemctl reset-failed records; systemd-run --unit=records python3 /run/writer.py")
    box.machine.wait_command(f"test $(wc -l < {LOG}) -ge 100", "records", 300)


def last_record(box: Box) -> str:
    """The number of the last record that was acknowledged. It is not there after a restart."""
    return box.say(f"tail -n 1 {LOG}")


def in_doubt(box: Box) -> bool:
    """Whether something was being written when the array broke: md clears the bits of all else within seconds."""
    shown = box.say("sleep 30; for d in /dev/disk/by-partlabel/millrace-data-*; do mdadm --examine-bitmap $d; done")
    found = [line for line in shown.splitlines() if "dirty" in line]
    print(found)
    assert found
    return any(" 0 dirty" not in line for line in found)


def see_records(box: Box, last: str | None = None, named: bool = True) -> int:
    """How many records that were acknowledged differ, up to `last`; their file is `named`, or none differs."""
    box.say("echo 3 > /proc/sys/vm/drop_caches")
    last = last or last_record(box)
    text = box.machine.run(["python3", "-c", READER, last], seconds=600).out.strip()
    ended = box.machine.wait_command("millrace pool unclean --json | grep -q '\"complete\"'", "the search", 600)
    assert ended.status == 0
    listed = box.millrace("pool unclean").out.splitlines()
    print(f"{last} records: {text}", listed)
    differ = int(text.split()[0])
    assert "data/records" in listed or not (named or differ)
    return differ


def wait_broken(box: Box) -> None:
    """The writer gets an error; the array has lost too many members."""
    box.machine.wait_command("! systemctl is-active -q records", "the end of the writer", 300)


def wait_revived(box: Box) -> None:
    broken = "Cannot continue operation"
    print(box.say(f"dmesg | grep -c '{broken}'; systemctl is-active millrace-serving.target; true"))
    try:
        box.machine.wait_command(
            "journalctl -b -o cat -u millrace-pool-change@revive | grep -q 'is mounted and served'", "the revival", 1800
        )
    finally:
        show(box)
    box.wait_serving()


def members(box: Box, array: str = "data") -> list[str]:
    return sorted(box.members_by_serial(array))


def states(box: Box, array: str = "data") -> dict[str, str]:
    """How each member of an array is, by serial."""
    (found,) = [one for one in box.shown("pool show --json")["arrays"] if one["name"] == array]
    return {member["serial"]: member["state"] for member in found["members"]}


def acknowledge(box: Box) -> None:
    box.millrace("pool acknowledge")
    box.say("journalctl --rotate; journalctl --vacuum-time=1s -q; true")


def put_in(box: Box, serials: Sequence[str]) -> None:
    for serial in serials:
        box.machine.insert(serial)
