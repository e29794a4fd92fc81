# SPDX-License-Identifier: Apache-2.0
"""A pool whose newest state another boot drive wrote is not served, and nothing is written before the decision."""

import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner

from millrace.lifecycle.keep import forget, generation_store, home, keeping, verbs
from millrace.lifecycle.keep.model import Forgotten, KeepStatus
from millrace.observe.health.checks import keep as health
from millrace.observe.health.model import Level
from millrace.observe.pool import verbs as pool_verbs
from millrace.storage.assemble import mounted_pool as pools
from millrace.storage.record.pool_file import load_pool
from millrace.system import paths
from millrace.system.documents import read_model, write_model
from millrace.system.errors import Failed, Refused
from millrace.system.run import Result
from tests.fakes.samples import pool
from tests.unit.lifecycle.keep.conftest import Server
from tests.unit.observe.health.servers import host

UUID = pool().filesystem_uuid


def found(server: Server) -> bool:
    return home.elsewhere(server.where, UUID) is not None


def another_boot_drive(server: Server) -> None:
    """The pool is adopted by one, which keeps a state of its own."""
    mine = server.root / "mine"
    shutil.move(paths.keep_dir(), mine)
    home.settle(max(generation_store.numbers(server.where)))
    server.rename("of the other server")
    assert server.keep().problem is None
    shutil.rmtree(paths.keep_dir())
    shutil.move(mine, paths.keep_dir())


def test_what_this_boot_drive_wrote_is_its_own(server: Server) -> None:
    for number in range(3):
        server.rename(f"change {number}")
        server.keep()
        assert not found(server)


def test_newer_state_of_another_boot_drive_is_found_and_nothing_is_written(server: Server) -> None:
    server.keep()
    another_boot_drive(server)
    before = server.kept()
    elsewhere = home.elsewhere(server.where, UUID)
    assert elsewhere is not None and (elsewhere.generation, elsewhere.users, elsewhere.same_drive) == (
        2,
        ["anna"],
        False,
    )
    assert [power.kind for power in elsewhere.trusted] == ["password"]
    server.rename("of this one")
    problem = server.keep().problem
    assert problem is not None and "millrace pool adopt" in problem and "millrace keep use-local" in problem
    with pytest.raises(Refused, match="was written by another boot drive"):
        forget.forget_people(load_pool(), server.run, Forgotten(by="admin", at="2026-11-23T10:00:00+00:00"))
    assert server.kept() == before


def test_generation_that_the_power_cut_kept_from_being_written_is_not_taken_for_that_of_another(
    server: Server,
) -> None:
    server.keep()
    another_boot_drive(server)
    # this boot drive had begun to write the generation that the other one wrote
    home.record(2)
    assert found(server)


def test_power_cut_after_the_generation_trips_nothing(server: Server) -> None:
    server.keep()
    status = paths.keep_file().read_bytes()
    server.rename("second")
    server.keep()
    paths.keep_file().write_bytes(status)
    assert not found(server)


def test_boot_drive_without_room_writes_no_generation(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.keep()
    server.rename("second")

    def full(*_: object) -> str:
        raise OSError(28, "No space left on device", str(paths.keep_writer_file()))

    monkeypatch.setattr(home, "record", full)
    assert "No space left on device" in (server.keep().problem or "")
    assert server.kept() == ["state-000001.tar.gz"]


def test_older_copy_of_this_boot_drive_does_not_serve_the_past(server: Server) -> None:
    server.keep()
    copy = server.root / "copy"
    shutil.copytree(paths.keep_dir(), copy)
    server.rename("second")
    server.keep()
    shutil.rmtree(paths.keep_dir())
    shutil.move(copy, paths.keep_dir())
    elsewhere = home.elsewhere(server.where, UUID)
    assert elsewhere is not None and elsewhere.same_drive
    assert "an older copy was put back" in home.sentence(elsewhere)


def earlier_release(server: Server) -> None:
    """What a release without writers wrote, and recorded."""
    everything = keeping.gather.gather(server.run)
    number = 1 + max(generation_store.numbers(server.where), default=0)
    generation_store.make_directory(server.root / "srv/pool")
    _, data = keeping.packed(load_pool(), everything, None, number, datetime.now(UTC))
    generation_store.write(server.where, number, data)


def test_rollback_to_an_earlier_release_trips_nothing(server: Server) -> None:
    server.keep()
    earlier_release(server)
    status = read_model(paths.keep_file(), KeepStatus)
    write_model(paths.keep_file(), status.model_copy(update={"generation": 2}))
    earlier_release(server)
    # its last generation was not recorded before the power went
    assert not found(server)
    earlier_release(server)
    assert found(server)


def test_first_boot_with_this_release_serves(server: Server) -> None:
    earlier_release(server)
    write_model(paths.keep_file(), KeepStatus(directory=str(server.where), generation=1))
    assert not found(server) and server.keep().problem is None


def test_adopted_state_is_that_of_this_boot_drive(server: Server) -> None:
    server.keep()
    shutil.rmtree(paths.keep_dir())
    assert found(server)
    home.settle(1)
    assert not found(server)


def test_new_pool_without_a_state_is_served(server: Server) -> None:
    assert not found(server)


def test_pool_is_not_verified_and_health_names_both_ways(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "verify", lambda system: load_pool())
    server.keep()
    another_boot_drive(server)
    with pytest.raises(Failed, match="the pool is not served: the newest state on the pool, generation 2"):
        CliRunner().invoke(pool_verbs.verify, [], catch_exceptions=False)
    here = host()
    here.pool = load_pool()
    [finding] = health.check(here)
    assert (finding.level, finding.key) == (Level.FAIL, "keep/elsewhere")
    assert finding.todo == home.DECIDE and "another boot drive (millrace-1a2b3c)" in finding.sentence


def test_state_of_this_boot_drive_is_kept_and_served_after_the_decision(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.keep()
    another_boot_drive(server)
    server.rename("of this one")
    calls: list[list[str]] = []

    def run(argv: list[str], stdin: str | None = None) -> Result:
        calls.append(argv)
        return Result(0, "", "")

    monkeypatch.setattr(verbs, "attempt", run)
    monkeypatch.setattr(verbs, "quickly", server.run)
    done = CliRunner().invoke(verbs.keep, ["use-local", "--yes"], catch_exceptions=False)
    assert done.exit_code == 0 and not found(server)
    assert [argv[-1] for argv in calls] == ["millrace-pool.service", "millrace-serving.target"]
    newest = generation_store.newest(server.where)
    assert newest is not None and newest.number == 3
    assert newest.generation.readable()["etc/millrace/policy.toml"] == b"# of this one\n"
    with pytest.raises(Refused, match="nothing to decide"):
        CliRunner().invoke(verbs.keep, ["use-local", "--yes"], catch_exceptions=False)


def test_link_in_place_of_the_states_is_no_decision(server: Server) -> None:
    server.keep()
    other: Path = server.root / "elsewhere"
    server.where.rename(other)
    server.where.symlink_to(other)
    assert not found(server)
