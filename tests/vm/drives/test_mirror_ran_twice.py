# SPDX-License-Identifier: Apache-2.0
"""Half of a mirror ran without the other and comes back: one life is served, the other drive is kept apart."""

from typing import Any

import pytest

from tests.vm.box import Box
from tests.vm.drives.conftest import MD, PAIR
from tests.vm.drives.test_replace import row

# a server of its own
pytestmark = pytest.mark.soak

HERE, AWAY = (drive.serial for drive in PAIR.drives)
IDLE = f"grep -qx 0 {MD}/degraded && grep -qx idle {MD}/sync_action"
FILES, OTHER = "/srv/pool/data", "/run/other"
DOWN = "systemctl stop millrace-serving.target nfs-server smbd millrace-storage.target srv-pool.mount && "
DOWN += "for md in /dev/md/millrace-*; do mdadm --stop $md; done"
PART = "$(lsblk -nro PATH,SERIAL | awk -v s={} '$2 == s {{print $1; exit}}')p"
SUMS = f"cd {FILES} && echo 3 > /proc/sys/vm/drop_caches && sha256sum both here 2>/dev/null"


def write(pair: Box, name: str) -> None:
    pair.say(f"head -c 8M /dev/urandom > {FILES}/{name}; sync -f {FILES}/{name}")


def finding(pair: Box) -> dict[str, Any] | None:
    pair.say("systemctl start millrace-health.service", seconds=600)
    found = pair.shown("health --json")["findings"]
    return next((one for one in found if one["key"].startswith("apart/") and AWAY in one["key"]), None)


def run_without(pair: Box) -> None:
    """What another server does with the drive that it got: its arrays run, and the pool is written."""
    arrays = [array["array"]["name"] for array in pair.pool["arrays"]]
    uuids = {array["array"]["name"]: array["uuid"] for array in pair.pool["arrays"]}
    for name in arrays:
        parts = f"$(for p in {PART.format(AWAY)}*; do mdadm -E $p | grep -q {uuids[name]} && echo $p; done)"
        pair.say(f"mdadm --assemble /dev/md/millrace-{name} --run --uuid={uuids[name]} {parts} 2>&1")
    options = pair.say("grep ^Options= /etc/systemd/system/srv-pool.mount").partition("=")[2]
    pair.say(f"mkdir -p {OTHER} && mount -t xfs -o {options} /dev/md/millrace-data {OTHER}")
    for number in range(4):
        pair.say(
            f"cd {OTHER}/data && head -c 4M /dev/urandom > away{number} && cp away{number} both; sync -f .; sleep 1"
        )
    pair.say(f"umount {OTHER}; for md in /dev/md/millrace-*; do mdadm --stop $md; done; udevadm settle")


def test_half_that_ran_elsewhere_is_named_and_one_life_is_served(pair: Box) -> None:
    pair.machine.wait_command(IDLE, "the end of the first synchronisation", 900)
    write(pair, "both")
    pair.machine.pull(AWAY)
    pair.machine.wait_command(
        f"grep -q beside /var/lib/millrace/in-sync.json && grep -qx 1 {MD}/degraded", "record", 300
    )
    write(pair, "both")
    write(pair, "here")
    before = pair.say(SUMS)
    pair.say(DOWN, seconds=600)
    # the two are in this server one after the other only
    pair.machine.put_in(AWAY)
    pair.machine.wait_command("! systemctl is-active millrace-readd.service", "the end of the look", 300)
    run_without(pair)
    pair.say("systemctl restart millrace-assemble.service; systemctl start millrace-serving.target", seconds=900)
    pair.wait_serving()
    said = pair.say("journalctl -b -u millrace-assemble -o cat --no-pager")
    print(said, pair.say("cat /proc/mdstat /var/lib/millrace/in-sync.json /var/lib/millrace/apart.json"))
    assert f"started without {AWAY}" in said and "ran without the array after it left it and is kept apart" in said
    assert pair.members_by_serial("data") == {HERE}
    assert pair.say(SUMS) == before
    assert pair.say(f"ls {FILES} | grep away; true") == ""


def test_udev_and_a_reboot_do_not_add_it_either(pair: Box) -> None:
    pair.machine.pull(AWAY)
    pair.machine.put_in(AWAY)
    pair.machine.wait_command(
        "udevadm settle; ! systemctl is-active millrace-readd.service", "the end of the look", 300
    )
    assert "is kept apart" in pair.say("journalctl -b -u millrace-readd -o cat --no-pager")
    assert pair.members_by_serial("data") == {HERE}
    pair.machine.reboot()
    pair.wait_serving()
    pair.wait_booted()
    assert pair.members_by_serial("data") == {HERE}


def test_it_is_named_in_health_and_in_the_list_of_drives(pair: Box) -> None:
    found, drive = finding(pair), row(pair, AWAY)
    print(found, drive)
    assert found is not None and found["level"] == "WARN" and AWAY in found["sentence"]
    assert f"millrace drive replace {AWAY}" in found["todo"]
    assert (drive["verdict"], drive["actions"]) == ("other pool", ["erase", "locate"])
    assert "ran without array data after it left it, last written" in drive["what"]
    refused = pair.millrace(f"drive erase {AWAY} --serial-again={AWAY}", check=False)
    assert refused.status == 1 and "has changes that the pool lacks" in refused.err


def test_erased_it_takes_its_old_place(pair: Box) -> None:
    sums = pair.say(SUMS)
    pair.machine.run(["millrace", "drive", "erase", AWAY, "--foreign", f"--serial-again={AWAY}"], seconds=900)
    pair.wait_examined()
    done = pair.machine.run(["millrace", "drive", "replace", AWAY, "--yes"], seconds=1200)
    print(done.out[-2000:])
    pair.machine.wait_command(IDLE, "the end of the rebuild", 900)
    assert pair.members_by_serial("data") == {HERE, AWAY}
    assert finding(pair) is None and row(pair, AWAY)["verdict"] == "in-sync"
    assert pair.say(SUMS) == sums
