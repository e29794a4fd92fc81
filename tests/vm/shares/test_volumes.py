# SPDX-License-Identifier: Apache-2.0
"""A volume: connected over NVMe/TCP, the same after the server's reboot, larger, cloned, and gone without a trace."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.vm.box import CLIENT_ADDRESSES, SERVER_ADDRESSES, Box
from vm.machine import Machine

# by hand: it reboots the server that the other stories use
pytestmark = [pytest.mark.soak, pytest.mark.usefixtures("in_sync")]

NQN = "nqn.2014-08.org.nvmexpress:uuid:11111111-2222-3333-4444-555555555555"
HOST_ID = "11111111-2222-3333-4444-555555555555"
STRANGER = "nqn.2014-08.org.nvmexpress:uuid:99999999-2222-3333-4444-555555555555"
# DHHC-1:00 of 32 zero bytes with their CRC-32
SECRET = "DHHC-1:00:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAACtVQoZ:"
MIB = 1 << 20


def connect(
    client: Machine, volume: dict[str, Any], host: str = NQN, secret: str = "", check: bool = True
) -> int | None:
    """Connect as `nvme connect` does, by one line to /dev/nvme-fabrics; return the status: 0, the kernel took it."""
    export = volume["export"]
    line = (
        f"transport={export['transport']},traddr={SERVER_ADDRESSES[0]},trsvcid={export['port']},nqn={volume['nqn']},"
        f"hostnqn={host},hostid={HOST_ID},nr_io_queues=1,ctrl_loss_tmo=1800,reconnect_delay=2"
    )
    if secret:
        line += f",dhchap_secret={secret}"
    client.run("modprobe nvme-tcp")
    return client.run("cat > /dev/nvme-fabrics", stdin=line, check=check, seconds=120).status


def disconnect(client: Machine) -> None:
    client.run(
        "for one in /sys/class/nvme/nvme*; do grep -q tcp $one/transport && echo 1 > $one/delete_controller; done; true"
    )


def device(client: Machine, volume: dict[str, Any]) -> str:
    """The device on the client, found by what identifies it."""
    # nvme0c0n1 is a path of nvme0n1 and no device that can be opened
    find = f"grep -l {volume['uuid']} /sys/block/nvme*/uuid | cut -d/ -f4 | grep -v 'c[0-9]*n' | head -n 1"
    client.wait_command(f'[ -n "$({find})" ]', "the device of the volume", 120)
    return f"/dev/{client.run(find).out.strip()}"


@pytest.fixture
def tank(box: Box, client: Machine) -> Iterator[dict[str, Any]]:
    made = box.millrace(
        f"volume create tank --size 64M --export tcp --host {NQN} --address {CLIENT_ADDRESSES[0]} --json", seconds=600
    )
    try:
        yield dict(json.loads(made.out)["volume"])
    finally:
        disconnect(client)
        for name in ("tank", "copy"):
            box.millrace(f"volume detach {name} --disconnect", check=False, seconds=600)
            box.millrace(f"volume remove {name} --delete-data {name}", check=False, seconds=600)


def test_volume_outlives_a_reboot_grows_and_is_cloned(box: Box, client: Machine, tank: dict[str, Any]) -> None:
    assert tank["problem"] is None
    assert connect(client, tank, STRANGER, check=False) != 0
    connect(client, tank)
    disk = device(client, tank)
    assert client.run(f"blockdev --getss {disk}").out.strip() == "4096"
    assert client.run(f"blockdev --getsize64 {disk}").out.strip() == str(tank["size"])
    client.run(f"head -c 8M /dev/urandom > /run/written; dd if=/run/written of={disk} bs=1M oflag=direct conv=fsync")
    wrong = box.millrace("volume remove tank --delete-data tank", check=False, seconds=300)
    assert wrong.status == 1
    assert "volume tank is connected by" in wrong.err

    box.machine.reboot()
    box.wait_serving()
    # nvmet had let go of the files in time
    box.see_stopped_whole()
    again = box.shown("volume show tank --json")["volume"]
    assert {key: again[key] for key in ("uuid", "nqn", "size", "export")} == {
        key: tank[key] for key in ("uuid", "nqn", "size", "export")
    }
    client.run("echo 3 > /proc/sys/vm/drop_caches")
    client.run(f"dd if={disk} bs=1M count=8 iflag=direct | cmp - /run/written", seconds=600)

    box.millrace("volume clone tank copy", seconds=600)
    client.run(f"dd if=/dev/zero of={disk} bs=1M count=8 oflag=direct conv=fsync", seconds=300)
    data = "/srv/pool/.millrace-volumes/volumes/{}/data"
    kept = box.say(f"head -c 8M {data.format('copy')} | sha256sum")
    assert kept == client.run("sha256sum < /run/written").out.strip()

    box.millrace("volume resize tank --size 96M", seconds=600)
    client.wait_command(f"[ $(blockdev --getsize64 {disk}) = {96 * MIB} ]", "the new size", 120)

    # what the host discards stays the volume's own
    client.run(f"blkdiscard {disk}", seconds=300)
    box.say("systemctl reload millrace-volumes.service", seconds=300)
    assert box.shown("volume show tank --json")["volume"]["allocated"] == 96 * MIB
    assert not [
        finding
        for finding in box.shown("health --json")["findings"]
        if finding["check"] == "volumes" and finding["level"] != "OK"
    ]


def moved(box: Box, command: Callable[[], object]) -> tuple[int, int, int]:
    """What a command costs the drives of the data: requests of reading, MiB read, MiB written."""

    def sums() -> list[int]:
        # requests and sectors of 512 bytes of whole drives (Documentation/block/stat.rst)
        members = "readlink -f /sys/class/block/$(basename $(readlink -f /dev/md/millrace-data))/slaves/*"
        rows = [line.split() for line in box.say(f"for one in $({members}); do cat $one/../stat; done").splitlines()]
        return [sum(int(row[field]) for row in rows) for field in (0, 2, 6)]

    box.say("sync -f /srv/pool; echo 3 > /proc/sys/vm/drop_caches")
    before = sums()
    command()
    requests, read, written = (after - first for after, first in zip(sums(), before, strict=True))
    return requests, read * 512 // MIB, written * 512 // MIB


def test_drives_do_no_more_for_a_volume_than_for_its_file(box: Box, client: Machine, tank: dict[str, Any]) -> None:
    connect(client, tank)
    disk, file = device(client, tank), "/srv/pool/.millrace-volumes/volumes/tank/data"
    fill = f"head -c {tank['size']} /dev/urandom > /run/written; dd if=/run/written of={disk} bs=1M oflag=direct"
    client.run(f"{fill} conv=fsync", seconds=600)

    (data,) = [array for array in box.plan["arrays"] if array["name"] == "data"]
    assert MIB % (data["chunk"] * data["data_members"]) == 0, "1 MiB is no number of full stripes"
    size = tank["size"] // MIB
    again = f"dd if=/run/written of={disk} bs=1M oflag=direct"
    requests, read, written = moved(box, lambda: client.run(again, seconds=600))
    print("requests and MiB read, MiB written, by writes to the volume:", requests, read, written)
    assert written == pytest.approx(size * len(data["members"]) / data["data_members"], rel=0.02)
    # a read-modify-write of each would read a third of what it writes at least
    assert read < size // 16

    of_file = moved(box, lambda: box.say(f"dd if={file} of=/dev/null bs=1M iflag=direct", seconds=600))
    of_volume = moved(box, lambda: client.run(f"dd if={disk} of=/dev/null bs=1M iflag=direct", seconds=600))
    print("requests and MiB read, of the file and of the volume:", of_file, of_volume)
    assert of_file[1] == pytest.approx(size, rel=0.02)
    assert of_volume[:2] == pytest.approx(of_file[:2], rel=0.1)
    client.run(f"cmp {disk} /run/written; rm /run/written", seconds=600)


def test_kill_leaves_no_half_built_tree(box: Box, client: Machine, tank: dict[str, Any]) -> None:
    connect(client, tank)
    disk = device(client, tank)
    box.machine.run(
        "systemctl --no-block restart millrace-volumes.service; sleep 0.5;"
        " systemctl kill -s KILL millrace-volumes.service; systemctl reset-failed millrace-volumes.service;"
        " systemctl restart millrace-volumes.service",
        seconds=600,
    )
    assert box.shown("volume show tank --json")["volume"]["problem"] is None
    client.run(f"dd if={disk} bs=1M count=1 iflag=direct of=/dev/null", seconds=300)


def test_host_with_a_secret_has_to_know_it(box: Box, client: Machine, tank: dict[str, Any]) -> None:
    words = [
        "millrace",
        "volume",
        "export",
        "tank",
        "--host",
        NQN,
        "--address",
        CLIENT_ADDRESSES[0],
        "--dhchap-stdin",
        "--json",
    ]
    said = box.machine.run(words, stdin=f"{SECRET}\n", seconds=600)
    assert SECRET not in said.out
    assert connect(client, tank, check=False) != 0
    connect(client, tank, secret=SECRET)
    device(client, tank)


def test_last_volume_leaves_no_listener_module_or_unit(box: Box, client: Machine) -> None:
    box.millrace(
        f"volume create tank --size 16M --export tcp --host {NQN} --address {CLIENT_ADDRESSES[0]}", seconds=600
    )
    assert box.say("ss -Hltn sport = :4420") != ""
    assert box.say("nft list set inet millrace volume_ports | grep -c 4420") == "1"
    box.millrace("volume remove tank --delete-data tank", seconds=600)
    assert box.say("ss -Hltn sport = :4420") == ""
    # systemd unloads them once nothing needs their unit
    box.machine.wait_command("! grep ^nvmet /proc/modules", "the modules to be unloaded", 60)
    assert box.say("nft list set inet millrace volume_ports | grep -c 4420 || true") == "0"
    units = "systemctl list-units --no-legend 'millrace-volumes*' 'millrace-module@nvmet*'"
    assert box.say(units) == ""
    assert box.say("find /srv/pool/.millrace-volumes -type f") == ""
