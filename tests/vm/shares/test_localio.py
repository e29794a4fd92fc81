# SPDX-License-Identifier: Apache-2.0
"""A client of NFS on the server itself goes around nfsd, until the policy switches that off."""

from collections.abc import Iterator

import pytest

from tests.vm.box import NETWORKS, SERVER_ADDRESSES, Box

pytestmark = pytest.mark.usefixtures("models")

MOUNT = "/run/beside"
FILE = f"{MOUNT}/localio"
# root is squashed, and the kernel of a client asks for its rights before that
NOBODY = "setpriv --reuid=65534 --regid=65534 --clear-groups"
SWITCH = "/sys/module/nfs/parameters/localio_enabled"
POLICY = "/etc/millrace/policy.toml"
OPTIONS = "/etc/modprobe.d/millrace-nfs.conf"


@pytest.fixture(scope="module", autouse=True)
def rebuilt(box: Box) -> None:
    if "/updates/millrace/" not in box.say("modinfo -n nfs"):
        pytest.skip("the image has Debian's modules of NFS; tools/build without --stock-modules has those with LOCALIO")


@pytest.fixture
def mounted(box: Box) -> Iterator[None]:
    box.say(f"mkdir -p {MOUNT}; mount -t nfs4 -o vers=4.2 {SERVER_ADDRESSES[0]}:/srv/pool/models {MOUNT}")
    yield
    box.say(f"rm -f {FILE}; umount {MOUNT}; rmdir {MOUNT}")


def calls(box: Box) -> int:
    """How many calls with data the mount sent to nfsd (/proc/self/mountstats); NFSv4.2 reads with READ_PLUS."""
    kinds = {"READ:", "READ_PLUS:", "WRITE:"}
    found = box.say(f"grep -A 200 ' mounted on {MOUNT} ' /proc/self/mountstats")
    counted = {words[0]: int(words[1]) for line in found.splitlines() if (words := line.split()) and words[0] in kinds}
    assert counted.keys() == kinds
    return sum(counted.values())


def write_and_read(box: Box) -> None:
    """8 MiB that no cache holds back; what is in the pool and what is read are what was written."""
    box.say(
        f"dd if=/dev/urandom of=/run/sample bs=1M count=8 status=none; chmod o+r /run/sample; "
        f"{NOBODY} dd if=/run/sample of={FILE} bs=1M oflag=direct status=none; "
        f"dd if={FILE} of=/run/read bs=1M iflag=direct status=none; "
        f"cmp /run/sample /run/read; cmp /run/sample /srv/pool/models/localio; rm /run/sample /run/read"
    )


def test_client_on_the_server_reads_and_writes_without_a_request_to_nfsd(box: Box, mounted: None) -> None:
    assert box.say(f"cat {SWITCH}") == "Y"
    box.machine.wait_command("grep -qx 1 /sys/fs/nfs/*/localio", "LOCALIO", 60)
    before = calls(box)
    write_and_read(box)
    assert calls(box) == before == 0
    assert box.say("timeout 60 millrace watch | head -n 1").count("LOCALIO in use") == 1


@pytest.mark.soak
def test_policy_switches_it_off_for_mounts_and_for_the_next_boot(box: Box) -> None:
    networks = ", ".join(f'"{network}"' for network in NETWORKS)
    box.machine.run(f"cat > {POLICY}", stdin=f"[nfs]\nnetworks = [{networks}]\n\n[nfsd]\nlocalio = false\n")
    try:
        box.millrace("tune", seconds=600)
        assert box.say(f"cat {SWITCH}") == "N"
        box.say("systemctl restart millrace-share.service", seconds=600)
        assert box.say(f"cat {OPTIONS}") == "options nfs localio_enabled=N"
        box.say(f"mkdir -p {MOUNT}; mount -t nfs4 -o vers=4.2 {SERVER_ADDRESSES[0]}:/srv/pool/models {MOUNT}")
        write_and_read(box)
        assert calls(box) >= 16
        assert box.say("timeout 60 millrace watch | head -n 1").count("LOCALIO") == 0
    finally:
        # one that is left keeps the server from going down
        box.say(f"rm -f {POLICY} {FILE}; umount {MOUNT} && rmdir {MOUNT}; true")
    box.millrace("tune", seconds=600)
    assert box.say(f"cat {SWITCH}") == "Y"
    box.say(f"systemctl restart millrace-share.service; ! test -e {OPTIONS}", seconds=600)


@pytest.mark.soak
def test_server_that_is_its_own_client_goes_down(box: Box) -> None:
    """The mount goes before nfsd, which answers it until then."""
    box.say(f"mkdir -p {MOUNT}; mount -t nfs4 -o vers=4.2,hard {SERVER_ADDRESSES[0]}:/srv/pool/models {MOUNT}")
    box.say(f"{NOBODY} sh -c 'echo open > {FILE} && sync {FILE}'")
    box.machine.reboot()
    box.wait_serving()
    box.see_stopped_whole()
    assert box.say("cat /srv/pool/models/localio; rm /srv/pool/models/localio") == "open"
