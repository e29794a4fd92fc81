# SPDX-License-Identifier: Apache-2.0
"""A round is one job from its beginning to its end, over all windows; a look that finds nothing is none."""

import pytest

from millrace.plan.policy.model import ScrubPolicy
from millrace.storage.record.scrub_record import ArrayScrub, Repair, ScrubRecord, load
from millrace.storage.record.scrub_record import change as change_record
from millrace.storage.scrub import scrub, scrub_job, scrub_repair
from millrace.system import paths
from millrace.system.documents import write_model
from millrace.system.errors import Refused
from millrace.system.jobs.job import Glance
from millrace.system.jobs.record import JobRecord
from tests.unit.storage.scrub.conftest import SUNDAY
from tests.unit.storage.scrub.md_check import Md
from tests.unit.storage.scrub.test_scrub import MONDAY, POLICY, of, pool


def execute(md: Md) -> None:
    scrub_job.execute(pool(), POLICY, md.around())


def last(md: Md) -> JobRecord | None:
    return scrub_job.JOB.last(md.run)


def test_look_that_finds_nothing_is_no_job(md: Md) -> None:
    md.now = MONDAY
    execute(md)
    assert (last(md), md.begun) == (None, [])


def test_round_of_the_policy_is_one_job_over_its_windows(md: Md) -> None:
    md.now = SUNDAY.replace(hour=6, minute=55)
    execute(md)
    first = last(md)
    assert first is not None and (first.what, first.by, first.state) == ("all arrays", "the server", "waiting")
    glance = scrub_job.JOB.glance()
    assert glance is not None and glance.what == "all arrays, stopped: its window has ended"
    md.now = MONDAY
    execute(md)
    md.now = SUNDAY.replace(day=29)
    execute(md)
    ended = last(md)
    assert ended is not None and (ended.id, ended.state) == (first.id, "done")
    assert scrub_job.JOB.glance() is None


def test_round_by_hand_is_that_of_who_started_it(md: Md, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUDO_USER", "anna")
    md.now = MONDAY
    scrub_job.start(pool(), md.run)
    assert (md.stopped, md.started) == (1, 1)
    execute(md)
    ended = last(md)
    assert ended is not None and (ended.by, ended.state) == ("anna", "done")


def test_round_is_not_started_beside_a_benchmark(md: Md) -> None:
    md.benchmark = True
    with pytest.raises(Refused, match="a benchmark is running; wait for it, or stop it: millrace bench stop"):
        scrub_job.start(pool(), md.run)
    assert (load().round, md.started, last(md)) == (None, 0, None)


def test_round_that_was_stopped_waits_and_says_who_did(md: Md) -> None:
    md.now = MONDAY
    scrub_job.start(pool(), md.run)
    scrub_job.stop(md.run)
    found, stopped = last(md), load().stopped
    assert found is not None and found.state == "waiting"
    assert stopped is not None and stopped.by == "administrator"


def test_glance_has_the_arrays_that_are_read_and_how_far_they_are(md: Md) -> None:
    seen: list[Glance] = []

    def look() -> None:
        found = scrub_job.JOB.glance()
        if found is not None:
            seen.append(found)

    md.during = look
    execute(md)
    assert {glance.what for glance in seen} == {"array log: check", "array data: check"}
    data = [glance.progress or 0 for glance in seen if "data" in glance.what]
    assert data == sorted(data) and data[0] == 0 and data[-1] == 0.875


def test_repair_is_a_job_of_its_arrays(md: Md) -> None:
    md.bad["data"] = [4000]
    execute(md)
    md.now = MONDAY
    found = scrub_repair.to_repair(pool(), "data")
    scrub_job.repair(pool(), found, md.run, keep_data=True)
    assert of("data").repair is not None
    execute(md)
    ended = last(md)
    assert ended is not None and (ended.what, ended.state) == ("repair of data", "done")


def test_repair_that_is_left_is_work(md: Md) -> None:
    md.now = MONDAY
    one = scrub.due.arrays(pool())[0]
    state = ArrayScrub(array=one.array.name, uuid=one.uuid, repair=Repair(asked="2026-11-22T01:05:00+00:00", ranges=[]))
    change_record(lambda old: old.having(state))
    assert scrub_job.JOB.is_open()
    execute(md)
    assert last(md) is not None and not scrub_job.JOB.is_open()


NEVER = ScrubPolicy(every="never")


def test_round_that_the_policy_never_goes_on_with_ends_with_a_sentence(md: Md) -> None:
    md.now = SUNDAY.replace(hour=6, minute=55)
    execute(md)
    md.now = SUNDAY.replace(day=29)
    record = scrub_job.execute(pool(), NEVER, md.around())
    assert record.round is None and record.stopped is not None
    why = 'the policy has every = "never" in [scrub]; to go on: millrace pool scrub start'
    assert record.stopped.reason == why
    ended = last(md)
    assert ended is not None and (ended.state, ended.reason) == ("cancelled", why)
    assert not scrub_job.JOB.is_open() and scrub_job.JOB.glance() is None


def test_round_by_hand_goes_on_where_the_policy_never_checks(md: Md) -> None:
    md.now = MONDAY
    scrub_job.start(pool(), md.run)
    scrub_job.execute(pool(), NEVER, md.around())
    ended = last(md)
    assert ended is not None and (ended.state, load().round) == ("done", None)
    scrub_job.start(pool(), md.run)
    scrub_job.stop(md.run)
    record = scrub_job.execute(pool(), NEVER, md.around())
    assert record.round is None and record.stopped is not None
    assert record.stopped.reason.startswith('an administrator stopped it, and the policy has every = "never"')


def test_round_of_another_pool_ends_with_it(md: Md) -> None:
    md.now = SUNDAY.replace(hour=6, minute=55)
    execute(md)
    assert load().round is not None
    new = pool()
    arrays = [record.model_copy(update={"uuid": f"new-{record.array.name}"}) for record in new.arrays]
    write_model(paths.pool_file(), new.model_copy(update={"arrays": arrays}))
    md.now = MONDAY
    execute(md)
    assert load() == ScrubRecord()
    ended = last(md)
    assert ended is not None and (ended.state, ended.reason) == ("cancelled", "the server has another pool now")
