# SPDX-License-Identifier: Apache-2.0
"""Room for the records of NFS clients: an image without holes, with the records from before, checked at each start."""

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import ClassVar

import pytest

from millrace.lifecycle.keep import nfs_client_room
from millrace.lifecycle.keep.nfs_client_room import (
    BYTES,
    LARGEST,
    LEAST,
    UNIT,
    endangered,
    lines,
    make,
    problem,
    release,
    room_bytes,
    settle,
)
from millrace.system import paths
from millrace.system.errors import Failed
from millrace.system.heartbeat import Heartbeat
from millrace.system.run import Result
from tests.fakes.commands import GOOD, Commands
from tests.fakes.mounts import mount, unmount_all
from tests.unit.boot.units import before, names, unit

WHERE = "/srv/pool/.millrace/nfsdcld"


class Tools(Commands):
    TAKEN: ClassVar[Iterable[str]] = (
        "mke2fs -q -F -t ext3 -b 4096 -m 0 -L millrace-records -E nodiscard,lazy_itable_init=0 -d * * *k",
        "e2fsck [-f] -p *",
        f"umount *{WHERE}",
        f"systemctl show --property=Result --value {UNIT}",
    )

    def _mke2fs(self, words: Sequence[str], stdin: str) -> Result:
        source, made, size = words[-3:]
        names = " ".join(sorted(os.listdir(source)))
        with open(made, "wb") as file:
            file.write(names.encode())
            file.seek(1024 + 56)
            file.write(b"\x53\xef")
            file.truncate(int(size.removesuffix("k")) * 1024)
        return GOOD


@pytest.fixture
def tools() -> Tools:
    return Tools()


@pytest.fixture
def pool(root_user: Path) -> Path:
    (root_user / "srv/pool/.millrace").mkdir(parents=True, mode=0o700)
    mount(root_user, "/dev/md127", "/srv/pool", "xfs")
    return root_user / "srv/pool"


@pytest.fixture
def image(pool: Path) -> Path:
    return pool / ".millrace/nfsdcld.img"


def holds(image: Path) -> str:
    return image.read_bytes()[:100].rstrip(b"\0").decode()


def test_image_has_the_records_and_no_hole(pool: Path, image: Path, tools: Tools) -> None:
    (pool / ".millrace/nfsdcld").mkdir(mode=0o700)
    (pool / ".millrace/nfsdcld/main.sqlite").write_text("records")
    assert make(pool, tools).problem is None
    assert holds(image) == "main.sqlite"
    status = image.stat()
    assert (status.st_size, status.st_mode & 0o777) == (BYTES, 0o600) and status.st_blocks * 512 >= BYTES
    # what is below the mount is never read again
    assert not os.listdir(pool / ".millrace/nfsdcld")


def test_image_that_is_there_is_checked_and_kept(pool: Path, image: Path, tools: Tools) -> None:
    make(pool, tools)
    written = image.stat().st_ino
    make(pool, tools)
    assert image.stat().st_ino == written
    assert [call[0] for call in tools.calls] == ["mke2fs", "e2fsck"]


def test_image_that_is_mounted_is_not_touched(pool: Path, image: Path, tools: Tools, root_user: Path) -> None:
    mount(root_user, "/dev/loop0", WHERE, "ext3")
    make(pool, tools)
    assert tools.calls == [] and not image.exists()


def test_lost_blocks_are_allocated_again(pool: Path, image: Path, tools: Tools) -> None:
    make(pool, tools)
    with image.open("r+b") as file:
        file.truncate(4096)
        file.truncate(BYTES)
    assert image.stat().st_blocks * 512 < BYTES
    make(pool, tools)
    assert image.stat().st_blocks * 512 >= BYTES


def test_damaged_image_is_set_aside_for_a_new_one(pool: Path, image: Path, tools: Tools) -> None:
    make(pool, tools)
    tools.broken["e2fsck"] = Result(4, "UNEXPECTED INCONSISTENCY", "")
    assert make(pool, tools).set_aside == f"{image}.damaged"
    assert image.exists() and Path(f"{image}.damaged").exists()


def test_corrected_image_is_used(pool: Path, image: Path, tools: Tools) -> None:
    make(pool, tools)
    tools.broken["e2fsck"] = Result(1, "recovering journal", "")
    assert make(pool, tools).set_aside is None


@pytest.mark.parametrize("status", [8, 16, 32, 124, 127, 128, -9, -15])
def test_check_that_could_not_run_throws_no_image_away(pool: Path, image: Path, tools: Tools, status: int) -> None:
    make(pool, tools)
    written = image.stat().st_ino
    tools.broken["e2fsck"] = Result(status, "", "e2fsck: Cannot allocate memory")
    with pytest.raises(Failed, match=r"cannot be checked .*: e2fsck: Cannot allocate memory"):
        make(pool, tools)
    tools.broken["systemctl show"] = Result(0, "exit-code\n", "")
    with pytest.raises(Failed, match="cannot be checked"):
        settle(pool, tools)
    assert image.stat().st_ino == written and not Path(f"{image}.damaged").exists()


def test_image_without_a_superblock_is_damaged(pool: Path, image: Path, tools: Tools) -> None:
    make(pool, tools)
    image.write_bytes(bytes(BYTES))
    tools.broken["e2fsck"] = Result(8, "", "The superblock could not be read")
    assert make(pool, tools).set_aside == f"{image}.damaged"


def test_first_damaged_image_is_never_replaced(pool: Path, image: Path, tools: Tools) -> None:
    tools.broken["e2fsck"] = Result(4, "UNEXPECTED INCONSISTENCY", "")
    make(pool, tools)
    first = image.stat().st_ino
    found = [make(pool, tools).set_aside for _ in range(4)]
    assert found == [f"{image}.damaged{number}" for number in ("", "-2", "-3", "-3")]
    assert Path(f"{image}.damaged").stat().st_ino == first


@pytest.mark.parametrize("part", ["main.sqlite", "main.sqlite-wal"])
def test_records_of_a_version_without_the_mount_replace_an_earlier_image(
    pool: Path, image: Path, tools: Tools, part: str
) -> None:
    make(pool, tools)
    where = pool / ".millrace/nfsdcld"
    for name in {"main.sqlite", part}:
        (where / name).write_text("of the version before")
        os.utime(where / name, (1, 1))
    later = image.stat().st_mtime + 60
    os.utime(where / part, (later, later))
    make(pool, tools)
    assert holds(image).startswith("main.sqlite") and not os.listdir(where)


def test_records_below_the_mount_that_are_older_than_the_image_are_removed(
    pool: Path, image: Path, tools: Tools
) -> None:
    make(pool, tools)
    where = pool / ".millrace/nfsdcld"
    (where / "main.sqlite").write_text("from before a power cut")
    os.utime(where / "main.sqlite", (1, 1))
    make(pool, tools)
    assert not holds(image).startswith("main.sqlite") and not os.listdir(where)


@pytest.mark.parametrize("option", ["ro", "rw,emergency_ro", "rw,shutdown"])
def test_records_that_went_read_only_are_unmounted_and_checked(
    pool: Path, image: Path, tools: Tools, root_user: Path, option: str
) -> None:
    make(pool, tools)
    mount(root_user, "/dev/loop0", WHERE, "ext3", option)
    with pytest.raises(Failed, match=r"is mounted and read-only after an error: systemctl restart nfsdcld\.service"):
        make(pool, tools)
    why, remedy = problem(beat(records_free=LEAST)) or ("", "")
    assert "(their file system is read-only after an error)" in why and "systemctl restart nfsdcld.service" in remedy

    def unmount(*_: object) -> Result:
        unmount_all(root_user)
        return GOOD

    tools.broken["umount"] = unmount
    release(pool, tools)
    make(pool, tools)
    assert [call[0] for call in tools.calls] == ["mke2fs", "umount", "e2fsck"]


def test_read_only_records_that_are_in_use_fail_in_one_sentence(pool: Path, tools: Tools, root_user: Path) -> None:
    mount(root_user, "/dev/loop0", WHERE, "ext3", "ro")
    tools.broken["umount"] = Result(32, "", "umount: target is busy.")
    with pytest.raises(Failed, match=r"cannot be unmounted \(umount: target is busy\): end what uses it"):
        release(pool, tools)


def test_records_that_can_be_written_stay_mounted(pool: Path, tools: Tools, root_user: Path) -> None:
    release(pool, tools)
    mount(root_user, "/dev/loop0", WHERE, "ext3")
    release(pool, tools)
    assert tools.calls == []


def test_image_is_a_thousandth_of_the_pool_within_limits(
    pool: Path, image: Path, tools: Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [room_bytes(pool) for pool in (1 << 30, 50_000 << 20, 100 * 10**12)] == [BYTES, 50 << 20, LARGEST]
    monkeypatch.setattr(nfs_client_room, "_pool_size", lambda _: 40_000 << 20)
    made = make(pool, tools)
    assert image.stat().st_size == 40 << 20 and "41.9 MB" in "\n".join(lines(made))


def test_full_pool_leaves_the_records_where_they_are(
    pool: Path, image: Path, tools: Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    (pool / ".millrace/nfsdcld").mkdir(mode=0o700)
    (pool / ".millrace/nfsdcld/main.sqlite").write_text("records")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(nfs_client_room, "write_blocks", full)
    assert "no room of their own" in "\n".join(lines(make(pool, tools)))
    assert (pool / ".millrace/nfsdcld/main.sqlite").read_text() == "records" and not image.exists()
    # and nothing is wrong for those that come after
    assert settle(pool, tools) is None


def test_mounted_room_is_for_root_alone(pool: Path, tools: Tools, root_user: Path) -> None:
    make(pool, tools)
    mount(root_user, "/dev/loop0", WHERE, "ext3")
    (pool / ".millrace/nfsdcld").chmod(0o755)
    assert settle(pool, tools) is None
    assert (pool / ".millrace/nfsdcld").stat().st_mode & 0o777 == 0o700


def test_image_that_does_not_mount_is_set_aside(pool: Path, image: Path, tools: Tools) -> None:
    make(pool, tools)
    tools.broken["systemctl show"] = Result(0, "exit-code\n", "")
    tools.broken["e2fsck -f -p"] = Result(4, "UNEXPECTED INCONSISTENCY", "")
    assert settle(pool, tools) == f"{image}.damaged"
    assert not image.exists()


@pytest.mark.parametrize("result", ["", "success", "timeout", "resources", "signal", "exit-code"])
def test_sound_image_that_is_not_mounted_stays(pool: Path, image: Path, tools: Tools, result: str) -> None:
    make(pool, tools)
    tools.broken["systemctl show"] = Result(0, f"{result}\n", "")
    if result != "exit-code":
        # only what mount(8) itself said is a reason to doubt the image
        tools.broken["e2fsck"] = Result(4, "UNEXPECTED INCONSISTENCY", "")
    with pytest.raises(Failed, match="is not mounted; see `systemctl status srv-pool-"):
        settle(pool, tools)
    assert image.exists()


@pytest.fixture
def connected(root_user: Path) -> None:
    (root_user / "proc/fs/nfsd/clients/5").mkdir(parents=True)
    unmount_all(root_user)


def beat(**changes: object) -> Heartbeat:
    return Heartbeat.model_validate({"uptime": 1, "problem": None, "error": None, "free": 0, **changes})


@pytest.mark.usefixtures("connected")
@pytest.mark.parametrize(
    ("found", "why"),
    [
        (lambda: beat(records_free=LEAST), None),
        (lambda: beat(records_free=0), "their file system is full: a client may have filled it"),
        (beat, "the pool is full, and they have no room of their own"),
        (lambda: beat(free=1 << 40), None),
        (lambda: beat(problem="No space left on device"), None),
        (lambda: None, None),
    ],
)
def test_restart_that_takes_locks_is_known(found: Callable[[], Heartbeat | None], why: str | None) -> None:
    said = endangered(found())
    assert (said is None) if why is None else (said is not None and why in said)


def test_no_remedy_forbids_what_it_orders(root_user: Path) -> None:
    unmount_all(root_user)
    _, remedy = problem(beat()) or ("", "")
    assert remedy.startswith("Free 67.1 MB on the pool first; then: systemctl restart nfsdcld.service (it restarts the")
    assert "Do not restart" not in remedy and "about a minute and a half" in remedy


def test_without_clients_no_lock_is_lost(root_user: Path) -> None:
    assert endangered(beat()) is None


def test_units_make_mount_and_use_the_room_in_this_order() -> None:
    records, room, daemon = unit("millrace-lock-records.service"), unit(UNIT), unit("nfsdcld.service")
    started = [*records["ExecStartPre"], *records["ExecStart"]]
    # the sandbox has no privilege to start a unit
    assert started == [
        # out of the sandbox, which would unmount it for itself alone
        "+/usr/bin/millrace keep room --release",
        "/usr/bin/millrace keep room",
        f"-+/usr/bin/systemctl start {UNIT}",
        "/usr/bin/millrace keep records",
    ]
    own = f"{paths.POOL_OWN}/nfsdcld"
    assert room["What"] == room["ConditionPathExists"] == [f"/srv/pool/{own}.img"] and room["Where"] == [
        f"/srv/pool/{own}"
    ]
    # or systemd would wait for one of the two for ever
    assert "millrace-lock-records.service" not in names(room, "After") | before(UNIT)
    # with the mount it stops; without an image it runs
    assert UNIT in names(daemon, "After") & names(daemon, "PartOf") and UNIT not in names(daemon, "Requires")
    assert names(room, "BindsTo") == {"srv-pool.mount"} and room["DefaultDependencies"] == ["no"]


def test_no_discard_reaches_the_image() -> None:
    [trim] = unit("fstrim.service")["ExecStart"]
    kind = unit(UNIT)["Type"][0]
    assert f"--types noxfs,{kind} " in trim and "discard" not in unit(UNIT)["Options"][0]
