# SPDX-License-Identifier: Apache-2.0
"""Another version is installed under a client, accepted, rolled back; one that does not serve goes back by itself."""

import base64
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from host import keys, layout, stage
from host import release as releases
from host.layout import REPO
from tests.vm.box import Box
from tests.vm.lives.test_adopt import LOCKED, SERVER, WHERE, lock, started
from tests.vm.shares.words import PASSWORD
from vm.accel import Accel
from vm.link import Cables
from vm.machine import Machine

# a second image, and nine boots
pytestmark = pytest.mark.soak

OLD, NEW = "0.1.0", "0.1.1"
TOOLS = layout.caches().stages / "image" / "mkosi.tools"
LEFT_OUT = ("mkosi.output", ".git", "node_modules", "site", "out", "__pycache__")
# The host, as QEMU's own network has it.
HOST = "10.0.2.2"
KEYS = "/etc/millrace/update-keys.pgp"
# nfsd starts in the old version only.
FAULT = f"[Service]\nExecStartPre=/bin/sh -c '. /usr/lib/os-release; test $IMAGE_VERSION != {NEW}'\n"
DROP_INS = "/etc/systemd/system/nfs-server.service.d"
CHANGED, MINE, GONE = "etc/inputrc", "etc/networks", "etc/issue.net"
MASKED = "e2scrub_reap.service"
BOOT = "/proc/sys/kernel/random/boot_id"
LISTED = "ls $(bootctl --print-boot-path)/EFI/Linux"


@dataclass(frozen=True)
class Made:
    """A release of the next version, one of this version, and the public key for their signatures, in base64."""

    directory: Path
    older: Path
    archive: Path
    public: str


@pytest.fixture(scope="module")
def release(image: Path, tmp_path_factory: pytest.TempPathFactory) -> Made:
    """This tree with another version, built and released; the image that is there is the older one."""
    work = tmp_path_factory.mktemp("release")
    owner = keys.make(work / "keys", datetime.now(UTC))
    tree = work / "tree"
    shutil.copytree(REPO, tree, symlinks=True, ignore=shutil.ignore_patterns(*LEFT_OUT))
    (tree / "mkosi.version").write_text(f"{NEW}\n")
    news = tree / "NEWS.md"
    news.write_text(news.read_text().replace("\n## ", f"\n## {NEW}\n\n- A test of updates.\n\n## ", 1))
    # what is changed in /etc, new in it, changed here as well, and gone
    for name in (CHANGED, MINE):
        (tree / "mkosi.extra" / name).write_text(f"# of {NEW}\n")
    (tree / "mkosi.extra/etc/systemd/system" / MASKED).symlink_to("/dev/null")
    with (tree / "mkosi.conf").open("a") as file:
        file.write(f"        /{GONE}\n")
    subprocess.run([tree / "tools/build", "--release", owner.directory, work / "www"], check=True, cwd=tree)
    shutil.rmtree(tree)
    releases.write(layout.OUTPUT, owner, TOOLS, OLD, REPO / "NEWS.md", work / "older", stage.epoch(REPO))
    public = base64.b64encode((owner.directory / keys.UPDATE_PUBLIC).read_bytes()).decode()
    return Made(work / "www", work / "older", work / f"www/millrace_{NEW}.tar", public)


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def served(directory: Path) -> Iterator[str]:
    """The URL of a directory, as the server reaches it."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(directory))) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://{HOST}:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def box(
    release: Made,
    image: Path,
    accelerator: Accel,
    cables: Cables,
    client: Machine,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Box]:
    """A server with a share, a client that has a file locked and one that writes all the time."""
    directory = tmp_path_factory.mktemp("update")
    given = {"millrace__provision": b"auto"}
    with started(image, accelerator, cables, directory, SERVER, no_reboot=False, **given) as box:
        box.wait_serving()
        box.machine.run(["millrace", "user", "create", "anna", "--password-stdin"], stdin=PASSWORD + "\n", seconds=300)
        box.millrace("share create models --profile mixed --size 96M --smb-user anna", seconds=600)
        lock(client, box.say("id -u anna"))
        client.run(
            f"systemd-run --unit=writer sh -c 'n=0; while :; do n=$((n+1)); echo $n >> {WHERE}/counted || exit 1; "
            f"sync {WHERE}/counted || exit 1; sleep 1; done'"
        )
        yield box


def written(client: Machine) -> int:
    """How many lines were written, all of them and in their order."""
    lines = client.run(f"cat {WHERE}/counted", seconds=900).out.split()
    assert lines == [str(number + 1) for number in range(len(lines))]
    assert client.run("systemctl is-active writer").out.strip() == "active"
    return len(lines)


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
    fsid = box.say("exportfs -s | grep -o '^/srv/pool/models.*fsid=[^,]*'")
    with served(release.directory) as url:
        box.millrace(f"update source {url}")
        done = box.millrace("update apply --yes --reboot now", seconds=1800)
    assert f"version {NEW} was installed" in done.out
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
    client.run(f"while [ $(wc -l < {WHERE}/counted) -le {before + 2} ]; do sleep 1; done", seconds=900)
    box.machine.wait_command(LOCKED, "the reclaimed lock", 300)
    assert client.run("dmesg | grep -iE 'stale file handle|lock reclaim failed|lost lock'; true").out == ""
    assert box.failed_units() == []


def test_rollback_starts_the_version_before(box: Box, client: Machine) -> None:
    boot = box.say(f"cat {BOOT}")
    box.millrace("update rollback --yes --reboot now", seconds=300)
    rebooted(box, boot)
    assert version(box) == "0.1.0"
    status = box.shown("update status --json")
    assert status["last"]["state"] == "rolled-back"
    assert etc(box) == (False, False, False)
    assert (status["etc_kept"], status["etc_problem"]) == ([], None)
    written(client)


def test_older_version_is_started_where_it_is_asked_for(box: Box, client: Machine, release: Made) -> None:
    boot = box.say(f"cat {BOOT}")
    box.millrace("update rollback --yes --reboot now", seconds=300)
    rebooted(box, boot)
    assert version(box) == NEW
    boot = box.say(f"cat {BOOT}")
    with served(release.older) as url:
        box.millrace(f"update source {url}")
        refused = box.millrace("update apply --yes", check=False, seconds=300)
        assert refused.status == 1 and "--older" in refused.err
        box.millrace("update apply --yes --older --reboot now", seconds=1800)
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
        box.millrace("update apply --yes --reboot now", seconds=1800)
        # three boots of the new one, and one of the old
        back = "grep -q failed /var/lib/millrace/update/last.json && ! test -e /var/lib/millrace/update/before.json"
        box.machine.wait_command(back, "the version before", 5400)
        box.wait_serving()
        assert version(box) == "0.1.0"
        status = box.shown("update status --json")
        assert status["last"]["state"] == "failed" and "NFS does not answer." in status["last"]["problems"]
        assert [one["version"] for one in status["failed"]] == [NEW]
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
