# SPDX-License-Identifier: Apache-2.0
"""A plan becomes a pool, a share is served and mounted. These stories need a booted server."""

import json
import re
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.stories.new_users import ANNA_PASSWORD
from tests.browser.user import User
from tests.vm.box import CLIENT_ADDRESSES, NETWORKS, SERVER_ADDRESSES, Box
from vm.machine import Machine
from vm.qemu import FORWARDED_FROM

# Seconds on the reference host under emulation.
BUILD_SECONDS = 1200
CHANGE_SECONDS = 600
MIB = 1 << 20


def share(box: Box) -> dict[str, Any]:
    """The share of these stories as the program lists it."""
    (found,) = [one for one in box.read_json("millrace share list --json")["shares"] if one["name"] == "models"]
    return dict(found)


def test_approved_plan_is_built_with_visible_progress(box: Box, admin: User) -> None:
    admin.go("Storage")
    shown = admin.ours.get_by_test_id("plan-hash").inner_text()
    admin.ours.get_by_role("button", name="Approve…").click()
    admin.ours.get_by_role("dialog").get_by_role("button", name="Approve and build").click()
    building = admin.ours.get_by_test_id("building")
    expect(building).to_be_visible()
    expect(building.get_by_text("Now: ").first).to_be_visible(timeout=1000 * BUILD_SECONDS)
    array = admin.ours.get_by_test_id("array-data")
    expect(array).to_be_visible(timeout=1000 * BUILD_SECONDS * box.machine.accel.scale)
    expect(array).to_contain_text("RAID6")
    expect(admin.ours.get_by_test_id("filesystem")).to_contain_text("mounted")
    assert box.pool["plan_sha256"] == shown
    box.wait_serving()


def mount_of_data(client: Machine) -> int:
    """The status of mount(8) on a client."""
    mount = f"timeout 100 mount -t nfs4 -o vers=4.2,retry=0 {SERVER_ADDRESSES[0]}:/srv/pool/data /mnt && umount /mnt"
    return client.run(mount, check=False, seconds=300).status


def test_nfs_is_closed_before_a_client_network_is_confirmed(box: Box, client: Machine) -> None:
    assert box.say("exportfs -s") == ""
    assert "NFS is closed for data" in box.millrace("status").out
    assert mount_of_data(client) != 0


def test_one_click_confirms_the_networks_of_fixed_addresses(box: Box, client: Machine, admin: User) -> None:
    admin.go("Overview")
    closed = admin.ours.get_by_test_id("nfs-closed")
    # those of the cables; not that of QEMU's management, whose address DHCP gave
    expect(closed.get_by_role("checkbox", checked=True)).to_have_count(len(NETWORKS))
    for network in NETWORKS:
        expect(closed.get_by_role("checkbox", name=network)).to_be_checked()
    expect(closed.get_by_role("checkbox", name=FORWARDED_FROM)).not_to_be_checked()
    closed.get_by_role("button", name="Confirm networks").click()
    expect(closed).to_have_count(0, timeout=1000 * CHANGE_SECONDS * box.machine.accel.scale)
    assert box.shown("share networks list --json")["confirmed"] == list(NETWORKS)
    assert {line.split()[1].partition("(")[0] for line in box.say("exportfs -s").splitlines()} == set(NETWORKS)
    assert mount_of_data(client) == 0


def test_share_is_created_for_a_user_and_served_on_both_protocols(box: Box, admin: User) -> None:
    admin.go("Shares")
    admin.ours.get_by_role("button", name="New share").click()
    admin.ours.locator("#name").fill("models")
    admin.ours.locator("#size").fill("96M")
    admin.ours.locator("#smb-users-anna").check()
    expect(admin.ours.get_by_test_id("preview")).to_contain_text("/srv/pool/models")
    admin.ours.get_by_role("button", name="Create share").click()
    done = admin.ours.get_by_test_id("done")
    expect(done).to_contain_text("Share models is served.", timeout=1000 * CHANGE_SECONDS * box.machine.accel.scale)
    expect(admin.ours.get_by_test_id("shares").get_by_role("row", name=re.compile("models"))).to_contain_text("anna")
    listed_share = share(box)
    assert (listed_share["size"], listed_share["smb"]["users"]) == (96 * MIB, ["admin", "anna"])
    box.machine.run("umask 077; cat > /run/anna.smb", stdin=f"username=anna\npassword={ANNA_PASSWORD}\n")
    assert "blocks available" in box.say("smbclient -A /run/anna.smb //127.0.0.1/models -c du")


# by hand until a row of soak has seen it
@pytest.mark.soak
def test_page_of_a_share_keeps_its_verification_and_records_accesses(box: Box, admin: User) -> None:
    admin.go("Shares")
    admin.ours.get_by_test_id("shares").get_by_role("link", name="models").click()
    expect(admin.ours.get_by_test_id("share-verified")).to_contain_text("Served, verified")
    expect(admin.ours.get_by_test_id("share-who")).to_contain_text("anna")
    expect(admin.ours.get_by_test_id("share-connected")).to_contain_text("No SMB clients have this share open.")
    log = admin.ours.get_by_test_id("share-log")
    # the control is under its label's track, and shows what the server has
    log.get_by_role("switch").click(force=True)
    expect(log.get_by_role("switch")).to_be_checked(timeout=1000 * CHANGE_SECONDS * box.machine.accel.scale)
    box.say("smbclient -A /run/anna.smb //127.0.0.1/models -c 'put /etc/hostname seen; del seen'")
    assert {entry["action"] for entry in box.shown("share log models --json")["entries"]} >= {"created", "deleted"}
    assert admin.accessibility_problems() == [] and admin.overflowing() == []
    admin.ours.get_by_role("link", name="All shares").click()
    expect(admin.ours.get_by_test_id("shares")).to_contain_text("Served, verified")


# by hand until a row of soak has seen it
@pytest.mark.soak
def test_file_that_was_removed_comes_back_from_a_snapshot(box: Box, admin: User) -> None:
    client = "smbclient -A /run/anna.smb //127.0.0.1/models -c"
    box.say(f"{client} 'put /etc/hostname kept'")
    admin.go("Protection")
    admin.ours.get_by_test_id("protection").get_by_role("link", name="models").click()
    expect(admin.ours.get_by_test_id("light-here")).to_contain_text("Not set up")
    expect(admin.ours.get_by_test_id("light-second-server")).to_contain_text("No second server has been set up")
    snapshots = admin.ours.get_by_test_id("share-snapshots")
    snapshots.get_by_role("button", name="Make a snapshot now").click()
    files = snapshots.get_by_role("button", name="Files of the snapshot")
    files.first.wait_for(timeout=1000 * CHANGE_SECONDS * box.machine.accel.scale)
    box.say(f"{client} 'del kept'")
    files.first.click()
    dialog = admin.ours.get_by_role("dialog")
    dialog.get_by_role("button", name="Compare with the share").click()
    expect(dialog.get_by_role("row", name="removed kept")).to_be_visible()
    dialog.get_by_role("button", name="Show the files").click()
    dialog.get_by_role("button", name="Restore kept").click()
    expect(dialog).to_contain_text("kept is back in the share")
    assert admin.accessibility_problems() == [] and admin.overflowing() == []
    dialog.get_by_text("Close", exact=True).click()
    assert box.say("stat -c %U /srv/pool/models/kept") == "anna"
    admin.ours.get_by_role("link", name="All shares").click()


# by hand until a row of soak has seen it
@pytest.mark.soak
def test_schedule_that_is_set_on_the_page_lights_the_share(box: Box, admin: User) -> None:
    admin.go("Protection")
    admin.ours.get_by_test_id("protection").get_by_role("link", name="models").click()
    admin.ours.get_by_role("button", name="Schedule", exact=True).click()
    dialog = admin.ours.get_by_role("dialog")
    for kind, number in {"hourly": "2", "daily": "0", "weekly": "0", "monthly": "0"}.items():
        dialog.locator(f"#schedule-{kind}").fill(number)
    scale = box.machine.accel.scale
    dialog.get_by_role("button", name="Show plan").click()
    expect(dialog).to_contain_text("A snapshot has", timeout=1000 * CHANGE_SECONDS * scale)
    dialog.get_by_role("button", name="Set schedule").click()
    expect(dialog).to_have_count(0, timeout=1000 * CHANGE_SECONDS * scale)
    box.say("systemctl start millrace-cleanup@schedule.service")
    admin.ours.get_by_role("link", name="All shares").click()
    row = admin.ours.get_by_test_id("protection").get_by_role("row", name=re.compile("models"))
    expect(row).to_contain_text("In time", timeout=1000 * CHANGE_SECONDS * scale)
    [shown] = box.shown("protection show models --json")["shares"]
    assert [light["state"] for light in shown["lights"]] == ["ok", "none", "none"]
    box.millrace("snapshot schedule models --off")
    admin.go("Shares")


def test_client_mounts_the_share_with_the_copied_lines(client: Machine, admin: User) -> None:
    admin.go("Shares")
    admin.ours.get_by_role("button", name="Mount models on a client").click()
    recipe = admin.ours.get_by_test_id("recipe")
    expect(recipe.get_by_role("group", name="Append to /etc/fstab")).to_be_visible()
    blocks = recipe.get_by_test_id("copy-block")
    for label in [str(block.get_attribute("aria-label")) for block in blocks.all()]:
        block = recipe.get_by_role("group", name=label, exact=True)
        block.get_by_role("button", name="Copy: ").click()
        expect(block).to_contain_text("Copied")
        text = admin.frame.evaluate("navigator.clipboard.readText()")
        if file := re.fullmatch(r"(/\S+) \(mode (\d+)\)", label):
            client.run(f"mkdir -p $(dirname {file[1]}); cat > {file[1]}; chmod {file[2]} {file[1]}", stdin=text)
        elif label == "Append to /etc/fstab":
            client.run("cat >> /etc/fstab", stdin=text)
        elif "as root" in label:
            client.run(text, seconds=300)
    # what is looked at is mounted
    mounts = json.loads(client.run("stat -f /mnt/models/. >&2 && findmnt --json -t nfs4", seconds=300).out)[
        "filesystems"
    ]
    assert [mount["source"].partition(":")[2] for mount in mounts] == ["/srv/pool/models"]
    admin.go("Overview")
    expect(admin.ours.get_by_test_id("clients")).to_contain_text(CLIENT_ADDRESSES[0])


def test_changed_quota_is_set_in_the_file_system(box: Box, admin: User) -> None:
    admin.go("Shares")
    admin.ours.get_by_role("button", name="Change models").click()
    admin.ours.locator("#size").fill("192M")
    admin.ours.get_by_role("button", name="Save").click()
    done = admin.ours.get_by_test_id("done")
    expect(done).to_contain_text(
        "Share models has been changed.", timeout=1000 * CHANGE_SECONDS * box.machine.accel.scale
    )
    assert share(box)["size"] == 192 * MIB
    blocks = box.say("xfs_quota -x -c 'report -p -N -b' /srv/pool").splitlines()
    assert str(192 << 10) in {line.split()[3] for line in blocks if line}


def test_overview_shows_bays_network_shares_and_history(box: Box, admin: User) -> None:
    admin.go("Overview")
    for panel in ("bays", "network", "shares", "load", "history"):
        expect(admin.ours.get_by_test_id(panel)).to_be_visible(timeout=1000 * CHANGE_SECONDS)
    expect(admin.ours.get_by_test_id("bays").locator("ol > li")).to_have_count(12)
    expect(admin.ours.get_by_test_id("uptime")).not_to_have_text("")


def test_storage_page_shows_the_plan_in_force(box: Box, admin: User) -> None:
    admin.go("Storage")
    expect(admin.ours.get_by_test_id("plan-in-force")).to_contain_text("RAID6", timeout=1000 * CHANGE_SECONDS)
    expect(admin.ours.get_by_test_id("plan-in-force")).to_contain_text(box.pool["plan_sha256"])
