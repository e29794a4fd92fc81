# SPDX-License-Identifier: Apache-2.0
"""`millrace pool revive`: what is shown, what is refused, and what is started."""

import json
import threading
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from millrace.cli.program import run
from millrace.storage.assemble import revival_limit, unclean
from millrace.storage.assemble.assemble import assemble
from millrace.storage.assemble.readd import readd
from millrace.storage.record import apart_record
from millrace.storage.record.model import Pool
from millrace.storage.record.pool_file import load_pool
from millrace.storage.record.writer import PROVISIONING, READDING, writing
from millrace.system import paths
from millrace.system.errors import Failed
from millrace.system.files import write_text
from millrace.system.run import Result
from tests.fakes.drives.without_log import WithoutLog
from tests.unit.storage.conftest import root
from tests.unit.storage.drive.pools import confirmed, put_in
from tests.unit.storage.drive_life import die, plug_in, rebuilt
from tests.unit.storage.drive_life import writing as write
from tests.unit.storage.rescue.reviving import Terminal, gone, refused, revive, world

__all__ = ["root", "world"]


def test_drives_that_exchange_their_names_during_the_start_are_not_taken_for_each_other(
    world: WithoutLog, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    left = {serial: next(disk for disk in world.disks if disk.serial == serial) for serial in ("D0", "D1", "D2")}
    for serial in left:
        die(world, serial)
        write(world, "data")
    for serial in ("D1", "D2"):
        plug_in(world, left[serial])
    wait, exchanged = world.wait, list[str]()

    def exchange(seconds: float) -> None:
        if not exchanged:
            exchanged.extend(name for name, one in world.names.items() if one.serial in ("D1", "D2"))
            one, other = exchanged
            world.names[one], world.names[other] = world.names[other], world.names[one]
        wait(seconds)

    monkeypatch.setattr(world, "wait", exchange)
    world.calls.clear()
    status, _, error = revive(capsys, "--yes")
    assert exchanged and status and "drives came or went meanwhile; nothing was started: run it again" in error
    assert not [command for command in world.calls if "--force" in command]
    # again it is the member that left last
    assert revive(capsys, "--yes")[0] == 0
    record = unclean.pending()
    assert record is not None and [set(start.missing) for start in record.starts] == [{"D0", "D1"}]


def test_healthy_pool_is_left_alone(world: WithoutLog, capsys: pytest.CaptureFixture[str]) -> None:
    assert "every array of the pool runs: there is nothing to revive" in refused(world, capsys, "--yes")


def test_foreign_drive_is_no_member(world: WithoutLog, capsys: pytest.CaptureFixture[str]) -> None:
    gone(world, ("D0",), ("D1", "D2"))
    put_in(world, "NEW")
    for serial in ("NEW", "FOREIGN", "L0", "D9"):
        assert f"{serial} is no member of an array that does not run" in refused(
            world, capsys, "--with", serial, "--yes"
        )


def test_older_member_is_refused_beside_newer_ones(world: WithoutLog, capsys: pytest.CaptureFixture[str]) -> None:
    gone(world, ("D0",), ("D1", "D2"))
    error = refused(world, capsys, "--with", "D0", "--yes")
    assert "RAID6 data is not started with D0" in error and "were not in use at the same time" in error


def test_more_members_than_are_needed_are_refused(world: WithoutLog, capsys: pytest.CaptureFixture[str]) -> None:
    gone(world, ("D0",), ("D1", "D2"))
    error = refused(world, capsys, "--with", "D1", "--with", "D2", "--yes")
    assert "it needs 1 of the members that left" in error


def test_too_few_members_are_named(world: WithoutLog, capsys: pytest.CaptureFixture[str]) -> None:
    die(world, "D0", "D1", "D2")
    assert "1 more of its members are needed; missing: D0, D1, D2" in refused(world, capsys, "--yes")


def test_member_of_the_past_of_an_array_that_went_on_is_not_started_with(
    world: WithoutLog, capsys: pytest.CaptureFixture[str]
) -> None:
    away = next(disk for disk in world.disks if disk.serial == "D2")
    for serial in ("D0", "D1", "D2"):
        die(world, serial)
        write(world, "data")
    plug_in(world, next(disk for disk in world.disks if disk.serial == "D0"))
    digest = json.loads(revive(capsys, "--dry-run", "--json")[1])["sha256"]
    assert revive(capsys, "--plan", digest)[0] == 0
    die(world, "D0")
    plug_in(world, away)
    kept = "1 more of its members are needed; missing: D0, D1; kept apart since a start without them: D2;"
    assert kept in refused(world, capsys, "--yes")
    mixed = "the array was started without D2 and has been written since, so it cannot start with what they hold"
    assert mixed in refused(world, capsys, "--with", "D2", "--yes")


def test_nothing_is_started_while_something_else_changes_drives(
    world: WithoutLog, capsys: pytest.CaptureFixture[str]
) -> None:
    gone(world, ("D0",), ("D1",), ("D2",))
    with writing(PROVISIONING):
        assert PROVISIONING in refused(world, capsys, "--yes")


def test_open_change_of_drives_comes_first(world: WithoutLog, capsys: pytest.CaptureFixture[str]) -> None:
    put_in(world, "NEW")
    confirmed(world, "D3", "NEW")
    gone(world, ("D0",), ("D1",), ("D2",))
    assert "wait for its end: millrace drive progress" in refused(world, capsys, "--yes")


def test_order_that_is_not_known_is_decided_by_name(world: WithoutLog, capsys: pytest.CaptureFixture[str]) -> None:
    gone(world, ("D0",), ("D1", "D2"))
    assert "which --yes does not decide" in refused(world, capsys, "--yes")
    assert "no terminal to confirm this" in refused(world, capsys)
    status, out, _ = revive(capsys, "--dry-run")
    assert status == 0
    assert "Array data (RAID6) needs 2 members" in out
    assert "In doubt: it is not known which of D1, D2 left last." in out
    status, _, error = revive(capsys, "--with", "D2", "--yes")
    assert status == 0, error
    assert "RAID6 data: started without D0, D1, with D2 again" in error
    known = unclean.pending()
    assert known is not None and known.starts[0].missing == ["D0", "D1"]
    assert ["systemctl", "restart", "millrace-assemble.service"] in world.calls
    # what D1 alone may have is not overwritten
    assert "D1 (" in error and "may be newer than the array, which was started without it, and is kept apart" in error
    lines: list[str] = []
    readd(world, lines.append)
    assert not any("D1 returned" in line for line in lines)
    assert {member.serial for member in apart_record.load().members if member.started} == {"D1"}


def test_plan_is_confirmed_by_its_hash_and_only_as_it_was_shown(
    world: WithoutLog, capsys: pytest.CaptureFixture[str]
) -> None:
    gone(world, ("D0",), ("D1", "D2"))
    status, out, _ = revive(capsys, "--dry-run", "--json")
    shown = json.loads(out)
    assert status == 0 and not shown["done"]
    parts = {member["serial"]: member["part"] for member in shown["arrays"][0]["members"]}
    assert sorted(parts.values()) == ["brought-back", "current", "kept-apart", "rebuilt"]
    assert (parts["D3"], parts["D0"]) == ("current", "rebuilt")
    assert "the drives have changed since this was shown" in refused(world, capsys, "--plan", "0" * 64)
    status, out, _ = revive(capsys, "--plan", shown["sha256"], "--json")
    assert status == 0 and json.loads(out)["done"]


def test_word_yes_is_typed_on_a_terminal(
    world: WithoutLog, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    gone(world, ("D0",), ("D1",), ("D2",))
    monkeypatch.setattr("sys.stdin", Terminal("no\n"))
    assert revive(capsys)[0] == 1
    assert unclean.pending() is None
    monkeypatch.setattr("sys.stdin", Terminal("yes\n"))
    assert revive(capsys)[0] == 0
    assert unclean.pending() is not None


def test_pool_that_is_in_use_is_named_and_nothing_is_started(
    world: WithoutLog, capsys: pytest.CaptureFixture[str]
) -> None:
    world.mounted_pool()
    gone(world, ("D0",), ("D1",), ("D2",))
    world.busy = True
    assert "/srv/pool is still in use" in refused(world, capsys, "--yes")
    world.busy = False
    assert revive(capsys, "--yes")[0] == 0
    # repeated, as after a kill
    assert "there is nothing to revive" in refused(world, capsys, "--yes")


def test_service_starts_only_what_is_certain(world: WithoutLog, capsys: pytest.CaptureFixture[str]) -> None:
    gone(world, ("D0",), ("D1", "D2"))
    assert "it is not known which of D1, D2 left last" in refused(world, capsys, "--automatic")


def test_service_waits_for_the_return_of_members_that_started_it(
    world: WithoutLog, capsys: pytest.CaptureFixture[str]
) -> None:
    gone(world, ("D0",), ("D1",), ("D2",))
    thread = threading.Thread(target=run, args=(["pool", "revive", "--automatic"],))
    with writing(READDING):
        thread.start()
        thread.join(0.5)
        assert thread.is_alive() and unclean.pending() is None
    thread.join(20)
    assert not thread.is_alive() and unclean.pending() is not None
    assert "/srv/pool is mounted and served" in capsys.readouterr().err


def waits(world: WithoutLog, monkeypatch: pytest.MonkeyPatch, leaves_after: int | None = None) -> list[float]:
    """How long the service waits, each time; the directory of the pool is in use until it has waited so often."""
    waited: list[float] = []

    def wait(seconds: float) -> None:
        waited.append(seconds)
        world.busy = len(waited) != leaves_after

    world.busy = True
    monkeypatch.setattr(world, "wait", wait)
    return waited


def test_service_tries_again_where_the_pool_is_in_use(
    world: WithoutLog, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    world.mounted_pool()
    gone(world, ("D0",), ("D1",), ("D2",))
    waited = waits(world, monkeypatch, 2)
    status, _, error = revive(capsys, "--automatic")
    assert status == 0 and waited == [60, 60]
    assert error.count("is still in use") == 2 and "the next attempt is in 60 seconds" in error


def test_service_gives_up_after_three_attempts_and_these_drives_are_not_tried_again(
    world: WithoutLog, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    world.mounted_pool()
    gone(world, ("D0",), ("D1",), ("D2",))
    waited = waits(world, monkeypatch)
    assert revive(capsys, "--automatic")[0] == 1
    assert waited == [60, 60] and unclean.pending() is None
    world.calls.clear()
    readd(world, lambda _: None)
    assert ["systemctl", "--no-block", "start", "millrace-pool-change@revive.service"] not in world.calls


def test_pool_that_is_not_verified_at_once_is_tried_again_and_not_unmounted(
    world: WithoutLog, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A restart of the arrays' service would end what serves already, with the clients that wait for it."""
    gone(world, ("D0",), ("D1",), ("D2",))
    answers = [Failed("/srv/pool is not mounted"), None]

    def verify(_: object) -> Pool:
        if error := answers.pop(0):
            raise error
        return load_pool()

    monkeypatch.setattr("millrace.storage.rescue.revive.pools.verify", verify)
    assert revive(capsys, "--automatic")[0] == 0 and answers == []
    assert world.calls.count(["systemctl", "restart", "millrace-assemble.service"]) == 1
    assert world.calls.count(["systemctl", "start", "millrace-serving.target"]) == 2


def test_server_that_does_not_serve_is_named_with_where_to_look(
    world: WithoutLog, capsys: pytest.CaptureFixture[str]
) -> None:
    gone(world, ("D0",), ("D1",), ("D2",))
    world.states = {"nfs-server.service": "failed", "smbd.service": "activating"}
    status, _, error = revive(capsys, "--yes")
    assert status == 1 and "is mounted and served" not in error
    assert error.splitlines()[-1].endswith(
        "the arrays run and /srv/pool is mounted, but NFS does not serve: nfs-server.service is failed "
        "(see: systemctl status nfs-server.service)"
    )


def test_server_that_starts_for_ever_is_waited_for_a_minute(
    world: WithoutLog, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    gone(world, ("D0",), ("D1",), ("D2",))
    world.states = {"nfs-server.service": "activating", "smbd.service": "inactive"}
    waited: list[float] = []
    monkeypatch.setattr(world, "wait", waited.append)
    status, _, error = revive(capsys, "--yes")
    assert status == 1 and sum(waited) == 60
    assert "NFS does not serve: nfs-server.service is still starting" in error
    assert "SMB does not serve: smbd.service is inactive" in error


def test_service_starts_a_server_that_failed_again(world: WithoutLog, capsys: pytest.CaptureFixture[str]) -> None:
    gone(world, ("D0",), ("D1",), ("D2",))
    world.states = {"smbd.service": "failed"}
    status, _, error = revive(capsys, "--automatic")
    assert status == 1 and error.count("SMB does not serve: smbd.service is failed") == 3
    assert world.calls.count(["systemctl", "start", "millrace-serving.target"]) == 3


class Slow(WithoutLog):
    """A server on which drives move while the pool is being unmounted."""

    def _systemctl(self, words: list[str], stdin: str) -> Result:
        if words == ["stop", "srv-pool.mount"]:
            self.moves()
        return super()._systemctl(words, stdin)

    def moves(self) -> None:
        name = {disk.serial: name for name, disk in self.names.items()}
        if self.pulled:
            for serial in self.pulled:
                del self.names[name[serial]]
            return
        first, second = name["D0"], name["D2"]
        self.names[first], self.names[second] = self.names[second], self.names[first]


def test_drive_that_leaves_while_the_pool_is_unmounted_ends_the_revival(
    world: WithoutLog, capsys: pytest.CaptureFixture[str]
) -> None:
    gone(world, ("D0",), ("D1",), ("D2",))
    world.__class__ = Slow
    world.pulled = {"D0": world.disks[0]}
    assert "drives came or went while the pool was unmounted" in refused(world, capsys, "--yes")


def test_names_that_changed_while_the_pool_was_unmounted_are_looked_up_again(
    world: WithoutLog, capsys: pytest.CaptureFixture[str]
) -> None:
    gone(world, ("D0",), ("D1",), ("D2",))
    world.__class__ = Slow
    assert revive(capsys, "--yes")[0] == 0
    (forced,) = [command for command in world.calls if "--force" in command]
    used = {world.names[Path(word).name[: Path(word).name.index("p")]].serial for word in forced if "/dev/nvme" in word}
    assert used == {"D2", "D3"}


def test_service_starts_an_array_three_times_a_day_and_an_administrator_always(
    world: WithoutLog, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(3):
        gone(world, ("D0",), ("D1",), ("D2",))
        assert revive(capsys, "--automatic")[0] == 0
        rebuilt(world)
    gone(world, ("D0",), ("D1",), ("D2",))
    lines: list[str] = []
    readd(world, lines.append)
    assert lines == [
        "RAID6 data broke and was started again 3 times in 24 hours, and is not started by itself any more: "
        "millrace pool revive"
    ]
    assert ["systemctl", "--no-block", "start", "millrace-pool-change@revive.service"] not in world.calls
    error = refused(world, capsys, "--automatic")
    assert "RAID6 data broke and was started again 3 times in 24 hours; check its drives" in error
    assert revive(capsys, "--yes")[0] == 0


def test_boot_drive_that_takes_no_record_counts_until_the_restart(
    world: WithoutLog, capsys: pytest.CaptureFixture[str]
) -> None:
    paths.revivals_file().mkdir()
    gone(world, ("D0",), ("D1",), ("D2",))
    assert revive(capsys, "--automatic")[0] == 0
    assert len(paths.unrecorded_revivals_file().read_text().splitlines()) == 1
    (one,) = revival_limit.recent(world.now())
    assert one.array == load_pool().arrays[0].uuid


def test_only_starts_of_this_array_and_this_day_count(world: WithoutLog) -> None:
    data, log = load_pool().arrays
    now = datetime.fromisoformat(world.now())
    lines = [json.dumps([data.uuid, (now - timedelta(hours=one)).isoformat()]) for one in (1, 2, 25)]
    bad = ["{", "[]", "[1, 2]", json.dumps([data.uuid, "2026-11-28T00:00:00"]), json.dumps([log.uuid, world.now()])]
    write_text(paths.revivals_file(), "".join(f"{line}\n" for line in [*lines, *bad]))
    assert revival_limit.refusal(data, world.now()) is None
    revival_limit.add([data], world.now())
    assert revival_limit.refusal(data, world.now()) == "RAID6 data broke and was started again 3 times in 24 hours"
    assert len(paths.revivals_file().read_text().splitlines()) == 4


def test_half_of_the_log_that_may_be_older_is_started_once_that_was_confirmed(
    world: WithoutLog, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    die(world, "L0")
    write(world, "log")
    world.boot()
    world.names = {name: disk for name, disk in world.names.items() if disk.serial != "L1"}
    with pytest.raises(Failed, match="To start without L1: millrace pool revive"):
        assemble(world, lambda _: None)
    assert "something is in doubt, which --yes does not decide" in refused(world, capsys, "--yes")
    status, out, _ = revive(capsys, "--dry-run")
    assert status == 0 and "In doubt: L1 may have left after L0, and would be newer." in out
    monkeypatch.setattr("sys.stdin", Terminal("yes\n"))
    status, _, error = revive(capsys)
    assert status == 0, error
    assert "RAID1 log: started without L1" in error
    plug_in(world, next(disk for disk in world.disks if disk.serial == "L1"))
    lines: list[str] = []
    readd(world, lines.append)
    assert (
        len(lines) == 1 and "may be newer than the array, which was started without it, and is kept apart" in lines[0]
    )
