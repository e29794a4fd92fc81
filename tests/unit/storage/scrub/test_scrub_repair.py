# SPDX-License-Identifier: Apache-2.0
"""A confirmed repair rewrites the ranges of the last check, reads them again, and is undisturbed by kills."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

import pytest

from millrace.plan.policy.model import ScrubPolicy
from millrace.storage.array import resync
from millrace.storage.record.change_journal import ChangeJournal
from millrace.storage.record.model import Pool
from millrace.storage.record.scrub_record import ArrayScrub, change, load
from millrace.storage.scrub import damaged_files, scrub, scrub_repair
from millrace.system import paths, sysfs
from millrace.system.documents import read_model
from millrace.system.errors import Failed, Refused
from millrace.system.run import Result
from tests.fakes.files.running import server
from tests.unit.storage.change.test_change_text import AT, plan
from tests.unit.storage.scrub.md_check import SECTORS, Md

NEVER = ScrubPolicy(every="never", rate_kib=50_000)


@pytest.fixture
def md(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Md]:
    """A server whose last check found two places of the data."""
    with server(tmp_path) as box:
        box.provision()
        made = Md(box, datetime.fromisoformat("2026-11-23T01:05:00+00:00"))
        monkeypatch.setattr(sysfs, "write", made.write)
        for module in (scrub, scrub_repair):
            monkeypatch.setattr(module, "now_here", lambda: made.now)
        made.bad["data"] = [104, 15_000]
        scrub.begin(pool(), made.run)
        run(made)
        made.begun.clear()
        yield made


def pool() -> Pool:
    return read_model(paths.pool_file(), Pool)


def run(md: Md) -> None:
    scrub.carry_on(pool(), NEVER, md.around())


def ask(md: Md, array: str | None = None) -> None:
    scrub_repair.ask(pool(), scrub_repair.to_repair(pool(), array), md.run)


def data() -> ArrayScrub:
    return next(one for one in load().arrays if one.array == "data")


def left() -> tuple[int, int]:
    """Sectors and ranges that do not match."""
    last = data().last
    assert last is not None
    return last.mismatches, len(last.ranges)


def test_only_the_recorded_ranges_are_rewritten_and_read_again(md: Md) -> None:
    assert left() == (16, 2)
    ask(md)
    run(md)
    assert md.repaired == [("data", 104), ("data", 15_000)]
    assert md.begun == [("data", 104), ("data", 15_000)] * 2
    repaired = data().repaired
    assert repaired is not None and (repaired.rewritten, repaired.left) == (16, 0)
    assert (left(), data().repair) == ((0, 0), None)
    assert [md.get("data", name) for name in ("sync_action", "sync_min", "sync_max")] == ["idle", "0", "max"]
    assert (md.get("data", "sync_speed_max"), md.get("data", "mismatch_cnt")) == ("4000000", "0")


def test_what_does_not_match_after_the_repair_stays_a_finding(md: Md) -> None:
    ask(md)

    def again() -> None:
        if md.get("data", "sync_action") == "repair":
            md.bad["data"] = [104, 15_000]

    md.during = again
    run(md)
    repaired = data().repaired
    assert repaired is not None and repaired.left == 16
    assert left() == (16, 2)


def test_check_before_a_repair_is_needed(md: Md) -> None:
    ask(md)
    run(md)
    with pytest.raises(Refused, match=r"the last check of any array found no sector that does not match"):
        ask(md)
    with pytest.raises(Refused, match=r"the last check of array log found no sector"):
        ask(md, "log")
    with pytest.raises(Refused, match=r"no array nonsense has redundancy to repair; those that have: log, data"):
        ask(md, "nonsense")


@pytest.mark.parametrize(
    ("state", "reason"),
    [({"degraded": "1"}, "array data is degraded"), ({"sync_action": "recover"}, "md reports recover")],
)
def test_repair_is_refused_while_an_array_is_degraded_or_rebuilt(md: Md, state: dict[str, str], reason: str) -> None:
    md.box.md("data", **state)
    with pytest.raises(Refused, match=reason):
        ask(md)
    assert data().repair is None


def test_repair_gives_way_to_a_change_of_drives_and_goes_on_after_it(md: Md) -> None:
    ask(md)
    journals: list[ChangeJournal] = []

    def confirm() -> None:
        if md.repaired and not journals:
            journals.append(ChangeJournal.open(plan(), "admin", AT))

    md.during = confirm
    run(md)
    waits = data().repair
    assert waits is not None and waits.least is None and md.get("data", "sync_action") == "idle"
    run(md)
    assert md.repaired == [("data", 104)]
    journals[0].stopped("mdadm failed")
    run(md)
    assert md.repaired == [("data", 104), ("data", 15_000)] and left() == (0, 0)


def test_repair_that_was_killed_is_ended_and_goes_on(md: Md) -> None:
    ask(md)

    def killed() -> None:
        if len(md.repaired) == 1:
            raise KeyboardInterrupt

    md.during = killed
    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(scrub_repair, "settle_repair", lambda record: None)
        run(md)
    # after SIGKILL nothing was put in order
    md.box.md("data", sync_action="repair", sync_speed_max="50000 (local)")
    md.during = lambda: None
    scrub.give_way(pool(), md.run)
    assert (md.get("data", "sync_action"), md.get("data", "sync_speed_max")) == ("idle", "4000000")
    run(md)
    assert md.repaired[-1] == ("data", 15_000) and left() == (0, 0)


def test_repair_that_md_refuses_is_an_error_and_stays_asked_for(md: Md, monkeypatch: pytest.MonkeyPatch) -> None:
    ask(md)

    def refuse(path: Path, value: str) -> None:
        if path.name == "sync_action" and value == "repair":
            raise OSError(16, "Device or resource busy")
        md.write(path, value)

    monkeypatch.setattr(resync, "IDLE_BUSY_PAUSES", [])
    monkeypatch.setattr(sysfs, "write", refuse)
    with pytest.raises(Failed, match="md does not repair array data: Device or resource busy"):
        run(md)
    assert data().repair is not None and md.get("data", "sync_speed_max") == "4000000"


def test_files_and_the_meaning_are_shown_before(md: Md) -> None:
    named = md.box.root / "srv/pool/data/victim"
    named.write_text("x")

    def xfs_io(argv: Sequence[str], stdin: str | None = None) -> Result:
        assert list(argv[:3]) == ["xfs_io", "-r", "-c"] and argv[3].startswith("fsmap -d ")
        return Result(0, f"\t0: 9:127 [16..23]: inode {named.stat().st_ino} data 0..7 8\n", "")

    records = scrub_repair.to_repair(pool(), None)
    said = [
        *scrub_repair.explained(records, False, {}),
        *scrub_repair.doubtful(records, lambda: damaged_files.search(pool(), xfs_io)),
    ]
    assert said == [
        "array data (RAID6): 16 sectors in 2 ranges do not match",
        "  which drive is wrong is not known: only RAID6 has two parities, which locate a wrong block",
        "  data or parity is wrong, and which is not known: both parities are computed from the data as they are",
        "file in doubt: data/victim",
        "Compare these files with a backup or with their source before, and restore those that differ.",
    ]


def test_record_without_places_repairs_the_whole_array(md: Md) -> None:
    last = data().last
    assert last is not None
    change(lambda old: old.having(data().model_copy(update={"last": last.model_copy(update={"ranges": []})})))
    ask(md)
    run(md)
    assert md.begun == [("data", 0), ("data", 0)] and len(md.repaired) == 2
    assert left() == (0, 0) and md.get("data", "sync_max") == "max"


def test_whole_array_goes_on_from_where_the_repair_was(md: Md) -> None:
    last = data().last
    assert last is not None
    change(lambda old: old.having(data().model_copy(update={"last": last.model_copy(update={"ranges": []})})))
    ask(md)
    md.during = lambda: setattr(md, "asked", md.get("data", "sync_completed") == f"8000 / {SECTORS['data']}")
    run(md)
    md.during, md.asked = lambda: None, False
    run(md)
    assert md.begun[1][1] >= 7000
    repaired = data().repaired
    assert repaired is not None and repaired.rewritten == 16
