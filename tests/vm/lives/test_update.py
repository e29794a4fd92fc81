# SPDX-License-Identifier: Apache-2.0
"""Another version is installed under a client, accepted, rolled back; one that does not serve goes back by itself."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.vm.box import CLIENT_ADDRESSES, Box
from tests.vm.lives.release import CHANGED, GONE, KEYS, LISTED, MASKED, MINE, NEW, OLD, Made, served
from tests.vm.lives.test_adopt import (
    HOST_NQN,
    IDENTITY,
    SERVER,
    WHERE,
    lock,
    see_reclaimed,
    see_volume_exported,
    started,
)
from tests.vm.shares.words import PASSWORD
from vm.accel import Accel
from vm.agent import StartedAgain
from vm.link import Cables
from vm.machine import Machine

# a second image, and nine boots
pytestmark = pytest.mark.soak

# nfsd starts in the old version only.
FAULT = f"[Service]\nExecStartPre=/bin/sh -c '. /usr/lib/os-release; test $IMAGE_VERSION != {NEW}'\n"
DROP_INS = "/etc/systemd/system/nfs-server.service.d"
BOOT = "/proc/sys/kernel/random/boot_id"
# An erasure that erases nothing and takes as long as the story wants.
ERASE = "millrace-erase.service"
HELD = "[Unit]\nConditionPathExists=\n[Service]\nExecStart=\nExecStart=/usr/bin/sleep infinity\nExecStopPost=\n"
PLANNED = "millrace-planned-reboot"


@contextmanager
def in_use(image: Path, accelerator: Accel, cables: Cables, client: Machine, directory: Path) -> Iterator[Box]:
    """A server with a share, a client that has a file locked and one that writes all the time."""
    given = {"millrace__provision": b"auto"}
    with started(image, accelerator, cables, directory, SERVER, no_reboot=False, **given) as box:
        box.wait_serving()
        box.machine.run(["millrace", "user", "create", "anna", "--password-stdin"], stdin=PASSWORD + "\n", seconds=300)
        box.millrace("share create models --type mixed --size 96M --smb-user anna", seconds=600)
        lock(client, box.say("id -u anna"))
        client.run(
            f"systemd-run --unit=writer sh -c 'n=0; while :; do n=$((n+1)); echo $n >> {WHERE}/counted || exit 1; "
            f"sync {WHERE}/counted || exit 1; sleep 1; done'"
        )
        client.wait_command(f"test -s {WHERE}/counted", "the first line", 300)
        yield box


@pytest.fixture(scope="module")
def box(
    release: Made,
    image: Path,
    accelerator: Accel,
    cables: Cables,
    client: Machine,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Box]:
    """The server, which starts when the release is built."""
    with in_use(image, accelerator, cables, client, tmp_path_factory.mktemp("update")) as box:
        yield box


def written(client: Machine) -> int:
    """How many lines were written, all of them and in their order."""
    lines = client.run(f"cat {WHERE}/counted", seconds=900).out.split()
    assert lines == [str(number + 1) for number in range(len(lines))]
    assert client.run("systemctl is-active writer").out.strip() == "active"
    return len(lines)


def restarting(box: Box, *words: str) -> None:
    """Run a command that ends with a restart: the server may be gone before its answer is here."""
    with suppress(StartedAgain):
        done = box.millrace(["update", *words, "--yes", "--reboot", "now"], seconds=1800)
        assert "apply" not in words or "was installed" in done.out


def rebooted(box: Box, before: str, seconds: float = 900) -> None:
    """The server started again and serves."""
    box.machine.wait_command(f"test $(cat {BOOT}) != {before}", "the next boot", seconds)
    box.wait_serving()


def version(box: Box) -> str:
    return box.say(". /usr/lib/os-release; echo $IMAGE_VERSION")


def test_release_is_found_and_a_wrong_one_is_refused(box: Box, release: Made, tmp_path: Path) -> None:
    with served(release.directory) as url:
        box.millrace(f"update source {url}")
        refused = box.millrace("update check", check=False, seconds=300)
        assert refused.status == 1 and "without an update key" in refused.err
        box.machine.run(f"base64 -d > {KEYS}", stdin=release.public)
        offer = box.shown("update check --json")
        assert (offer["version"], offer["running"], offer["refusal"]) == (NEW, "0.1.0", None)
        assert "A test of updates." in offer["news"]
    altered = tmp_path / "altered"
    shutil.copytree(release.directory, altered, copy_function=shutil.copyfile)
    sums = altered / "SHA256SUMS"
    sums.write_text(sums.read_text().replace("0", "1"))
    with served(altered) as url:
        box.millrace(f"update source {url}")
        refused = box.millrace("update apply --yes", check=False, seconds=300)
    assert refused.status == 2 and "signature of SHA256SUMS is wrong" in refused.err
    assert box.say(LISTED) == "millrace_0.1.0.efi"


def etc(box: Box) -> tuple[bool, bool, bool]:
    """Whether a changed file, a new mask and the absence of a file are those of the new version."""
    return (
        box.say(f"head -1 /{CHANGED}") == f"# of {NEW}",
        box.say(f"systemctl show -P LoadState {MASKED}") == "masked",
        box.say(f"test -e /{GONE} || echo gone") == "gone",
    )


def test_update_is_installed_under_a_client_and_accepted(box: Box, client: Machine, release: Made) -> None:
    assert etc(box) == (False, False, False)
    box.say(f"echo '# of this server' >> /{MINE}")
    before, boot = written(client), box.say(f"cat {BOOT}")
    box.millrace(
        f"volume create tank --size 16M --export tcp --host {HOST_NQN} --address {CLIENT_ADDRESSES[0]}", seconds=600
    )
    fsid, volumes = box.say("exportfs -s | grep -o '^/srv/pool/models.*fsid=[^,]*'"), box.say(IDENTITY["volumes"])
    assert "tank" in volumes
    with served(release.directory) as url:
        box.millrace(f"update source {url}")
        restarting(box, "apply")
    rebooted(box, boot)
    assert version(box) == NEW
    box.machine.wait_command(f"test \"$({LISTED})\" = 'millrace_0.1.0.efi\nmillrace_{NEW}.efi'", "the acceptance", 900)
    status = box.shown("update status --json")
    assert (status["last"]["state"], status["trial"], status["other"]["version"]) == ("accepted", None, "0.1.0")
    # the system manager of the new root found it, and what was changed here is kept and named
    assert etc(box) == (True, True, True)
    assert (status["etc_kept"], status["etc_problem"]) == ([f"/{MINE}"], None)
    assert "# of this server" in box.say(f"cat /{MINE}")
    assert box.say("exportfs -s | grep -o '^/srv/pool/models.*fsid=[^,]*'") == fsid
    assert box.say(IDENTITY["volumes"]) == volumes
    see_volume_exported(box)
    client.run(f"while [ $(wc -l < {WHERE}/counted) -le {before + 2} ]; do sleep 1; done", seconds=900)
    see_reclaimed(box, client)
    assert box.failed_units() == []


def soon(box: Box) -> str:
    """A time of day in one to two minutes."""
    return box.say("date -d '+2 minutes' +%H:%M")


def see_deferred(box: Box) -> None:
    """See that the server did not reboot at the planned time, and says why."""
    box.machine.wait_command("grep -q erased /run/millrace/update/reboot.json", "the time of the reboot", 300)
    assert "a drive is being erased" in box.shown("update status --json")["reboot_deferred"]
    said = box.say(f"journalctl -b -o cat -u {PLANNED}.service")
    assert "the planned reboot waits: a drive is being erased" in said


def test_rollback_starts_the_version_before(box: Box, client: Machine) -> None:
    boot = box.say(f"cat {BOOT}")
    drop_ins = f"/run/systemd/system/{ERASE}.d"
    box.machine.run(f"mkdir -p {drop_ins} && cat > {drop_ins}/held.conf", stdin=HELD)
    box.say(f"systemctl daemon-reload; systemctl start {ERASE}")
    box.millrace(["update", "rollback", "--yes", "--reboot", soon(box)], seconds=600)
    see_deferred(box)
    box.millrace("update reboot later")
    assert box.shown("update status --json")["reboot"] is None
    assert box.say(f"systemctl list-units --all --no-legend '{PLANNED}.*'") == ""
    box.say("shutdown --reboot +600")
    # it takes the place of what an administrator planned, and then of itself
    box.millrace("update reboot 00:00")
    box.millrace(["update", "reboot", soon(box)])
    see_deferred(box)
    box.say(f"systemctl stop {ERASE}")
    # with the next attempt
    rebooted(box, boot, 1500)
    assert version(box) == "0.1.0"
    status = box.shown("update status --json")
    assert status["last"]["state"] == "rolled-back"
    assert etc(box) == (False, False, False)
    assert (status["etc_kept"], status["etc_problem"]) == ([], None)
    written(client)


def test_older_version_is_started_where_it_is_asked_for(box: Box, client: Machine, release: Made) -> None:
    boot = box.say(f"cat {BOOT}")
    restarting(box, "rollback")
    rebooted(box, boot)
    assert version(box) == NEW
    boot = box.say(f"cat {BOOT}")
    with served(release.older) as url:
        box.millrace(f"update source {url}")
        refused = box.millrace("update apply --yes", check=False, seconds=300)
        assert refused.status == 1 and "--older" in refused.err
        restarting(box, "apply", "--older")
    rebooted(box, boot)
    assert version(box) == OLD
    box.machine.wait_command(
        f"test \"$({LISTED})\" = 'millrace_{OLD}.efi\nmillrace_{NEW}+0.efi'", "the acceptance", 900
    )
    assert box.shown("update status --json")["last"]["state"] == "accepted"
    written(client)


def test_version_that_does_not_serve_goes_back_and_is_not_offered_again(
    box: Box, client: Machine, release: Made
) -> None:
    box.machine.run(f"mkdir -p {DROP_INS} && cat > {DROP_INS}/fault.conf", stdin=FAULT)
    with served(release.directory) as url:
        box.millrace(f"update source {url}")
        restarting(box, "apply")
        # three boots of the new one, and one of the old
        back = "grep -q failed /var/lib/millrace/update/last.json && ! test -e /var/lib/millrace/update/before.json"
        box.machine.wait_command(back, "the version before", 5400)
        box.wait_serving()
        assert version(box) == "0.1.0"
        status = box.shown("update status --json")
        assert status["last"]["state"] == "failed" and "NFS does not answer." in status["last"]["problems"]
        assert [failure["version"] for failure in status["failed"]] == [NEW]
        refused = box.millrace("update apply --yes", check=False, seconds=300)
        assert refused.status == 1 and "--again" in refused.err
    box.say("systemctl start millrace-health.service", seconds=600)
    assert f"Version {NEW} failed on this server" in box.millrace("health", check=False).out
    assert f"version {NEW} failed" in box.machine.console
    client.run(
        f"n=$(wc -l < {WHERE}/counted); while [ $(wc -l < {WHERE}/counted) -le $n ]; do sleep 1; done", seconds=900
    )
    written(client)
    assert box.failed_units() == []
