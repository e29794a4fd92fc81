# SPDX-License-Identifier: Apache-2.0
"""The pool on the drives is found with what its kept state has; one that cannot be adopted is found with the reason."""

import json
from pathlib import Path

import pytest

from millrace import __version__
from millrace.lifecycle.adopt import adopt, search, text
from millrace.lifecycle.adopt.model import SearchResult
from millrace.lifecycle.keep import generation
from millrace.system import xfs
from millrace.system.errors import MillraceError, Refused
from millrace.system.run import Result
from tests.fakes.samples import pool
from tests.fakes.xfs import V5_OF_6_1
from tests.unit.lifecycle.adopt import states
from tests.unit.lifecycle.adopt.conftest import Held
from tests.unit.lifecycle.adopt.finder import FileSystem, Finder, kept_of

DATA, LOG, OVER, OTHER = (f"{number:08}:1:1:1" for number in range(1, 5))
UUID = pool().filesystem_uuid
LEG = {name: f"0000000{number}:9:9:9" for number, name in enumerate(("leg-0", "leg-1", "leg-2"))}


@pytest.fixture
def finder(root: Path, monkeypatch: pytest.MonkeyPatch) -> Finder:
    made = Finder()
    made.wire(monkeypatch)
    return made


def mirror(finder: Finder, **more: object) -> None:
    """A pool of two drives, its log inside."""
    finder.array("data", DATA, "raid1", ["a1", "b1"])
    finder.file_systems[DATA] = FileSystem(UUID, None, kept_of({"data": DATA}, **more))


def raid50(finder: Finder, legs: tuple[str, ...] = ("leg-0", "leg-1", "leg-2"), log: bool = True) -> None:
    """A pool of three legs and a log pair, of which only some legs are in this server."""
    for leg in legs:
        finder.array(leg, LEG[leg], "raid5", [f"{leg}-{number}" for number in range(3)])
        finder.over[LEG[leg]] = Held("data", OVER, "raid0", 3, int(leg[-1]))
    if log:
        finder.array("log", LOG, "raid1", ["x1", "y1"])
    arrays = {**LEG, "log": LOG, "data": OVER}
    finder.file_systems[OVER] = FileSystem(UUID, LOG, kept_of(arrays))


def found(finder: Finder) -> SearchResult:
    return search.find(finder, finder)


def refused(finder: Finder) -> str:
    """Why the pool is not adopted, by `pool find` and by an adoption that does not ask it."""
    one = found(finder)
    assert one.pool is not None and one.problem is not None and one.todo is not None
    assert one.pool.problem == one.problem and one.pool.kept is None
    with pytest.raises(MillraceError) as stopped:
        adopt.begin(finder, finder, "auto", "anna", None)
    assert str(stopped.value) == one.problem
    return one.problem


def test_pool_is_found_with_what_comes_back(finder: Finder) -> None:
    mirror(finder)
    one = found(finder)
    assert one.problem is None and one.pool is not None and one.pool.kept is not None
    assert (one.pool.uuid, one.pool.missing, one.pool.kept.users) == (UUID, 0, ["anna"])


def test_what_the_file_system_was_made_without_is_named_before_it_is_adopted(
    finder: Finder, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Path | None] = []

    def features_at(where: Path) -> int:
        # while it is mounted over a snapshot
        asked.append(finder.mounted)
        assert where == finder.mounted
        return V5_OF_6_1

    monkeypatch.setattr(xfs, "features_at", features_at)
    mirror(finder)
    report = found(finder)
    assert report.problem is None and report.pool is not None and len(asked) == 1
    assert [clause.partition(":")[0] for clause in report.pool.lacks] == ["without exchange", "without parent"]
    assert f"  made {report.pool.lacks[1]}" in list(text.lines(report))


def test_pool_of_a_server_on_which_nothing_was_decided_is_found(finder: Finder) -> None:
    files = states.kept(pool().model_copy(update={"arrays": [pool().arrays[0].model_copy(update={"uuid": DATA})]}))
    del files[states.CONFIG]
    finder.array("data", DATA, "raid1", ["a1", "b1"])
    finder.file_systems[DATA] = FileSystem(UUID, None, {3: states.packed(files)})
    one = found(finder)
    assert one.problem is None and one.pool is not None and one.pool.kept is not None
    assert (one.pool.kept.shares, one.pool.kept.users) == (["data"], [])


def test_pool_of_legs_is_found_by_its_physical_arrays(finder: Finder) -> None:
    raid50(finder)
    one = found(finder)
    assert one.problem is None and one.pool is not None
    assert [array.name for array in one.pool.arrays] == ["leg-0", "leg-1", "leg-2", "log"]


def test_pool_that_lost_its_power_while_written_and_then_a_drive_is_found(finder: Finder) -> None:
    finder.array("data", DATA, "raid5", ["a1", "b1", "c1", "d1"], slots=5)
    for name in ("a1", "b1", "c1", "d1"):
        finder.held[name].clean = False
    finder.file_systems[DATA] = FileSystem(UUID, None, kept_of({"data": DATA}))
    one = found(finder)
    assert one.problem is None and one.pool is not None
    assert (one.pool.uuid, one.pool.missing) == (UUID, 1)


def test_server_without_a_pool_on_its_drives(finder: Finder) -> None:
    one = found(finder)
    assert (one.pool, one.problem) == (None, search.NOTHING)


def test_pool_in_conflict_leads_as_one_that_cannot_be_adopted(finder: Finder) -> None:
    mirror(finder)
    finder.put("x1", Held("data", DATA, "raid1", 2, 1))
    assert "array data is in conflict: B1, X1" in refused(finder)


def test_manifest_of_a_later_version_is_named_and_no_older_state_is_adopted(finder: Finder) -> None:
    mirror(finder)
    later = kept_of({"data": DATA}, 4)
    finder.file_systems[DATA].kept = {**kept_of({"data": DATA}), **_with_schema(later)}
    said = refused(finder)
    assert "state-000004.tar.gz" in said and f"Millrace 0.9.0, later than this one ({__version__})" in said
    one = found(finder)
    assert one.todo == "nothing was written; keep the drives as they are until then"


def _with_schema(kept: dict[int, bytes]) -> dict[int, bytes]:
    found = {number: generation.unpack(data) for number, data in kept.items()}
    return {
        number: generation.pack(one.manifest.model_copy(update={"schema_version": 2, "release": "0.9.0"}), one.stored)
        for number, one in found.items()
    }


@pytest.mark.parametrize("document", ["config_json", "pool_json"])
def test_documents_of_a_later_version_are_named_with_the_pool(finder: Finder, document: str) -> None:
    mirror(finder)
    later = json.dumps({"schema_version": 9, "shapes": []}).encode()
    contents = states.kept(**{document: later})
    finder.file_systems[DATA].kept = {5: states.packed(contents, release="0.9.0")}
    assert "state-000005.tar.gz, a kept state on the pool, was written by Millrace 0.9.0" in refused(finder)
    one = found(finder)
    assert one.pool is not None and one.pool.uuid == UUID
    assert "it cannot be adopted: state-000005" in "\n".join(text.lines(one))


def test_document_that_is_damaged_is_named_with_the_pool(finder: Finder) -> None:
    mirror(finder)
    finder.file_systems[DATA].kept = {5: states.packed(states.kept(pool_json=b"{}"))}
    assert "pool.json" in refused(finder)


def test_file_that_this_version_does_not_keep_is_no_adoption_that_stops_halfway(finder: Finder) -> None:
    mirror(finder)
    contents = {**states.kept(), "var/lib/millrace/novel.json": b"{}"}
    finder.file_systems[DATA].kept = {5: states.packed(contents)}
    assert "novel.json, which is not kept by this release" in refused(finder)


def test_ports_that_cannot_be_read_do_not_hide_the_pool(finder: Finder) -> None:
    mirror(finder)
    port = {"mac": "02:00:00:00:00:01", "name": "eth0", "addresses": ["10.0.0.2/24"]}
    config = json.loads(states.kept()[states.CONFIG])
    of = pool().model_copy(update={"arrays": [pool().arrays[0].model_copy(update={"uuid": DATA})]})
    contents = states.kept(of, config_json=json.dumps({**config, "ports": [port]}).encode())
    finder.file_systems[DATA].kept = {5: states.packed(contents)}
    finder.broken["ip"] = Result(1, "", "no netlink")
    assert "no netlink" in refused(finder)


def test_mirror_and_the_array_over_the_legs_of_another_pool_are_two_pools(finder: Finder) -> None:
    mirror(finder)
    raid50(finder)
    said = refused(finder)
    assert "drives of 2 pools are in this server" in said and "Nothing was written" in said
    assert f"array data {DATA} on A1, B1" in said
    assert f"array data {OVER} on LEG-0-0, LEG-0-1" in said


def test_log_pair_of_another_pool_is_not_taken_for_the_log(finder: Finder) -> None:
    mirror(finder)
    finder.array("log", OTHER, "raid1", ["x1", "y1"])
    said = refused(finder)
    assert f"pool {UUID} does not have array log {OTHER} on X1, Y1." in said and "Nothing was written" in said


def test_log_pair_of_another_pool_in_the_place_of_a_lost_one(finder: Finder) -> None:
    mirror(finder)
    finder.file_systems[DATA].log = LOG
    finder.array("log", OTHER, "raid1", ["x1", "y1"])
    assert f"pool {UUID} does not have array log {OTHER} on X1, Y1." in refused(finder)


def test_leg_of_another_pool_is_not_adopted_with_a_mirror(finder: Finder) -> None:
    mirror(finder)
    finder.array("leg-7", OTHER, "raid5", ["x1", "y1", "z1"])
    assert f"pool {UUID} does not have array leg-7 {OTHER} on X1, Y1, Z1." in refused(finder)


def test_pool_without_one_of_its_legs_does_not_start(finder: Finder) -> None:
    raid50(finder, ("leg-0", "leg-2"))
    assert "array data cannot start: 2 of 3 members are in this server" in refused(finder)


def test_server_with_a_pool_is_not_searched(finder: Finder, root: Path) -> None:
    (root / "var/lib/millrace").mkdir(parents=True)
    (root / "var/lib/millrace/pool.json").write_text("{}")
    with pytest.raises(Refused, match="has a pool already"):
        found(finder)


def test_state_without_people_says_who_forgot_them_and_is_adopted_closed(finder: Finder) -> None:
    mirror(finder)
    forgotten = {"by": "mallory", "at": "2026-11-24T10:00:00+00:00"}
    finder.file_systems[DATA].kept = kept_of({"data": DATA}, forgotten=forgotten)
    one = found(finder)
    assert one.pool is not None and one.pool.kept is not None and one.pool.kept.origin == "forgotten"
    said = "\n".join(text.lines(one))
    assert "a factory reset by mallory, 2026-11-24 10:00 UTC, forgot users, passwords and keys" in said
    assert text.question(one.pool) == "Adopt the pool, with its shares closed and without users and keys?"
