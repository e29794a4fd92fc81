# SPDX-License-Identifier: Apache-2.0
"""What was approved is what the kernel runs, and the appliance says and shows no more than it must."""

import re

import pytest

from tests.vm import promises
from tests.vm.box import ADMIN_PASSWORD, SERVER_ADDRESSES, Box

pytestmark = pytest.mark.usefixtures("in_use")


def test_no_unit_failed(box: Box) -> None:
    assert box.failed_units() == []


def test_plan_is_raid6_of_ten_with_a_mirrored_log(box: Box) -> None:
    plan = box.plan
    arrays = {array["name"]: array for array in plan["arrays"]}
    assert (arrays["data"]["level"], len(arrays["data"]["members"])) == ("raid6", 10)
    assert arrays["data"]["chunk"] == 64 * 1024
    assert (arrays["log"]["level"], len(arrays["log"]["members"])) == ("raid1", 2)
    assert all(decision["reason"] and decision["source"] for decision in plan["decisions"])


def test_arrays_equal_the_plan(box: Box) -> None:
    promises.arrays_equal_the_plan(box)


def test_partitions_carry_labels_of_their_array(box: Box) -> None:
    labels = box.say("lsblk -rno PARTLABEL | grep .").splitlines()
    ours = sorted(label for label in labels if label.startswith(("millrace-data-", "millrace-log-")))
    assert ours == [f"millrace-data-{n:02}" for n in range(10)] + [f"millrace-log-{n:02}" for n in range(12)]


def test_the_log_has_a_hot_spare_on_a_data_drive(box: Box) -> None:
    log = next(array for array in box.plan["arrays"] if array["name"] == "log")
    roles = {drive["serial"]: drive["role"] for drive in box.plan["drives"]}
    assert [roles[serial] for serial in log["members"]] == ["log", "log"]
    assert [roles[serial] for serial in log["spares"]] == ["data"]
    detail = box.say("mdadm --detail /dev/md/millrace-log")
    assert "Spare Devices : 1" in detail, detail


def test_file_system_equals_the_plan(box: Box) -> None:
    promises.file_system_equals_the_plan(box)
    filesystem = box.plan["filesystem"]
    assert (filesystem["stripe_unit"], filesystem["stripe_width"]) == (512 * 1024, 1)


def test_nfsd_equals_the_plan(box: Box) -> None:
    promises.nfsd_equals_the_plan(box)
    assert box.plan["nfsd"]["pool_mode"] == "pernode"
    assert box.plan["nfsd"]["max_block_size"] == 1 << 20


def test_nfsd_threads_cover_both_nodes(box: Box) -> None:
    masks = box.say("for p in $(pgrep -x nfsd); do grep Cpus_allowed_list /proc/$p/status | cut -f2; done")
    assert set(masks.splitlines()) == {"0", "1"}


def test_md_settings_equal_the_plan(box: Box) -> None:
    promises.md_equals_the_plan(box)


def test_freed_blocks_are_deallocated_on_the_drives_and_parity_still_matches(box: Box) -> None:
    (decision,) = (decision for decision in box.plan["decisions"] if decision["name"] == "discard")
    assert (decision["value"], box.pool["filesystem"]["discard"]) == ("weekly", True), decision["reason"]
    assert box.say("cat /sys/module/raid456/parameters/devices_handle_discard_safely") == "Y"
    assert int(box.array_sysfs("data", "queue/discard_max_bytes")) > 0
    assert "discard" not in box.mount_options()
    box.say("systemd-analyze verify --man=no millrace-trim.service millrace-upkeep@trim.timer")
    assert box.say("systemctl is-active millrace-upkeep@trim.timer") == "active"

    def allocated() -> int:
        """Bytes that the files of the data drives take on this host: an exit status proves nothing (raid5.c)."""
        files = (box.machine.files.drive(serial) for serial in box.plan["arrays"][0]["members"])
        return sum(file.stat().st_blocks * 512 for file in files)

    def span(file: str) -> tuple[int, int]:
        """The first and the last byte of a file in the array."""
        # in sectors of 512 bytes: `0: [0..65535]: 1280..66815`
        extents = [line.split(": ") for line in box.say(f"xfs_io -r -c fiemap {file}").splitlines()[1:]]
        spans = [tuple(map(int, one[2].split()[0].split(".."))) for one in extents if one[2][0].isdigit()]
        return min(one[0] for one in spans) * 512, (max(one[1] for one in spans) + 1) * 512

    size = 32 << 20
    kept, freed = "/srv/pool/.millrace/discard-kept", "/srv/pool/.millrace/discard-freed"
    for file, count in ((kept, 4 << 20), (freed, size)):
        box.say(f"head -c {count} /dev/urandom > {file} && sync {file}")
    checksum = box.say(f"sha256sum {kept}")
    first, last = (pick(both) for pick, both in zip((min, max), zip(span(kept), span(freed), strict=True), strict=True))
    begin = span(freed)[0]
    # Emulated, the whole pool takes minutes: the trim is to go on at the file, as after a window that ended there.
    box.machine.wait_command("! grep -E 'resync|recovery|check' /proc/mdstat", "arrays in sync", 600)
    box.millrace("pool trim start")
    box.millrace("pool trim stop")
    held = allocated()
    box.say(f"truncate --size=0 {freed} && sync {freed} && rm {freed} && sync --file-system /srv/pool")

    move = f"d['round'].update(offset={begin}, slice={64 << 20}); f.write_text(json.dumps(d))"
    read = "import json,pathlib; f=pathlib.Path('/var/lib/millrace/trim.json'); d=json.loads(f.read_text())"
    box.say(f'python3 -c "{read}; {move}"')
    box.millrace("pool trim start")
    # whole stripes only, at both ends; XFS may return before the last of them is discarded
    box.machine.wait_for(lambda: held - allocated() > size * 3 // 4, "the blocks of the drives to be deallocated", 120)
    box.millrace("pool trim stop")
    status = box.shown("pool trim status --json")
    print(status, box.say("journalctl -b -o cat -u millrace-trim.service"))
    trim_round = status["round"] or status["last"]
    assert trim_round["bytes"] > size * 3 // 4 and trim_round["longest"] > 0
    assert (status["hindrance"], status["running"]) == (None, False)

    box.say("echo 3 > /proc/sys/vm/drop_caches")
    assert box.say(f"sha256sum {kept}") == checksum
    assert mismatches(box, first, last) == 0
    box.say(f"rm {kept}")


def mismatches(box: Box, first: int, last: int) -> int:
    """Return what md finds between two bytes of the array of the data, in sectors; all of it would take minutes."""
    md = "/sys/class/block/$(basename $(readlink -f /dev/md/millrace-data))/md"
    chunk, width = box.plan["arrays"][0]["chunk"] // 512, 8
    rows = first // 512 // (chunk * width), -(-last // 512 // (chunk * width))
    # what md has in its cache it would not read
    cache = box.say(f"cat {md}/stripe_cache_size")
    box.say(f"echo 17 > {md}/stripe_cache_size; echo {cache} > {md}/stripe_cache_size")
    box.say(f"echo {rows[0] * chunk} > {md}/sync_min; echo {rows[1] * chunk} > {md}/sync_max")
    box.say(f"echo check > {md}/sync_action")
    try:
        # md waits at sync_max until it is ended
        box.machine.wait_command(f"grep -q '^{rows[1] * chunk} ' {md}/sync_completed", "the check of the rows", 120)
    finally:
        box.say(
            f"cat {md}/sync_completed; echo idle > {md}/sync_action; echo max > {md}/sync_max; echo 0 > {md}/sync_min"
        )
    return int(box.array_sysfs("data", "md/mismatch_cnt"))


def test_weekly_fstrim_leaves_the_pool_out(box: Box) -> None:
    assert box.say("systemctl is-active fstrim.timer") == "active"
    found = box.say(r"systemctl show --property=ExecStart --value fstrim.service | grep -o 'argv\[\]=[^;]*'")
    command = f"{found.partition('=')[2].strip()} --dry-run"
    listed, everything = box.say(command), box.say(re.sub(r"--types \S+", "", command))
    print(command, listed, everything, sep="\n")
    # the records of NFS clients are an image in the pool
    for place in ("/srv/pool:", "/srv/pool/.millrace/nfsdcld:"):
        assert place not in listed
        assert place in everything


def test_interrupts_of_a_port_stay_on_its_node(box: Box) -> None:
    promises.ports_are_served_by_their_own_node(box)


def test_second_tuning_changes_nothing(box: Box) -> None:
    promises.tuning_again_changes_nothing(box)


def test_only_ports_of_served_protocols_are_open(box: Box) -> None:
    def ports(protocol: str) -> set[int]:
        listening = box.say(f"ss -Hl{protocol}np").splitlines()
        reached = [line for line in listening if not line.split()[3].startswith(("127.", "[::1]"))]
        print(*reached, sep="\n")
        return {int(line.split()[3].rsplit(":", 1)[1]) for line in reached}

    assert ports("t") == {445, 2049, 9090}
    # What DHCP is answered on, and RDMA over converged Ethernet. A client of another server, of time for example, has a
    # port for the moment of its question.
    box.machine.wait_for(lambda: ports("u") <= {68, 546, 4791}, "no other port of UDP", 60)
    open_ports = set(box.say("nft -j list set inet millrace tcp_services | tr -dc '0-9,' ").strip(",").split(","))
    assert "22" not in open_ports


def test_ports_that_units_opened_stay_open_when_the_firewall_is_loaded_again(box: Box) -> None:
    box.say("systemctl restart millrace-firewall@roce.service && systemctl reload nftables.service")
    assert "4791" in box.say("nft -j list set inet millrace udp_services")


def test_console_shows_version_address_and_login(box: Box) -> None:
    box.say("systemctl start millrace-health.service")
    banner = box.say("cat /run/issue.d/50-millrace.issue")
    assert "Millrace" in banner
    assert "0.1.0" in banner
    assert f"https://{SERVER_ADDRESSES[0]}:9090" in banner
    console = box.machine.console
    assert f"{box.say('hostname')} login:" in console


def test_web_console_replies_over_https(box: Box) -> None:
    script = "import ssl,urllib.request as u;print(u.urlopen('https://127.0.0.1:9090/ping',context=ssl._create_unverified_context()).read().decode())"
    assert "cockpit" in box.say(f'python3 -c "{script}"')


def test_no_secret_reaches_the_journal(box: Box) -> None:
    journal = "journalctl -b --no-pager"
    # what is looked for in this way is found where it is
    assert box.find("millrace-serving.target", journal) != ""
    assert box.find(ADMIN_PASSWORD, journal) == ""
