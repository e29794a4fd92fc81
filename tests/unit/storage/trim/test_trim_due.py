# SPDX-License-Identifier: Apache-2.0
"""A trim of a year to come counts as none: it is due now, ends once, and leaves nothing of that year."""

from datetime import timedelta

import pytest

from millrace.storage.trim import trim_due
from millrace.storage.trim.trim_record import Trimmed, TrimRecord, TrimRound, TrimStop, change, load
from tests.unit.storage.trim.conftest import SUNDAY
from tests.unit.storage.trim.test_trim import POLICY, carry_on, pool, stopped_by
from tests.unit.storage.trim.trimmed import SIZE, Kernel

IN_2069 = "2069-01-06T01:05:00+00:00"


def record(**changes: object) -> TrimRecord:
    return change(pool().filesystem_uuid, lambda old: old.model_copy(update=changes))


def last(at: str) -> Trimmed:
    return Trimmed(started=at, ended=at, bytes=1, seconds=1, longest=1)


@pytest.mark.parametrize("at", [IN_2069, "1970-01-04T01:05:00+00:00"])
def test_trim_of_a_wrong_clock_is_due_now_and_once(kernel: Kernel, at: str) -> None:
    assert not trim_due.is_due(POLICY, record(last=last((SUNDAY - timedelta(days=1)).isoformat())), kernel.now)
    found = record(last=last(at))
    assert trim_due.is_due(POLICY, found, kernel.now)
    assert trim_due.next_window(POLICY, found, kernel.now - timedelta(days=2)) is not None
    ended = carry_on(kernel)
    assert ended.last is not None and ended.last.started.startswith("2026")
    assert not trim_due.is_due(POLICY, load(pool().filesystem_uuid), kernel.now)


def test_trim_that_an_administrator_stopped_in_2069_goes_on_and_ends_as_one_of_now(kernel: Kernel) -> None:
    begun = TrimRound(started=IN_2069, by="policy", size=SIZE, offset=0, slice=1 << 30, bytes=0, seconds=0, longest=0)
    stop = TrimStop(at=IN_2069, by="administrator", reason="an administrator stopped it")
    assert trim_due.is_due(POLICY, record(round=begun, stopped=stop), kernel.now)
    ended = carry_on(kernel)
    assert ended.last is not None and ended.last.started.startswith("2026") and ended.round is None


def test_clock_that_is_put_back_ends_the_trim_with_its_window(kernel: Kernel) -> None:
    def jump() -> None:
        kernel.now = SUNDAY - timedelta(days=365 * 20 + 3)

    kernel.polled = jump
    assert stopped_by(carry_on(kernel)) == "window"
