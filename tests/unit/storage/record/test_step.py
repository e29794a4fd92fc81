# SPDX-License-Identifier: Apache-2.0
"""A step writes only where the journal and what is there agree: no data of another owner is overwritten."""

import pytest

from millrace.storage.record.journal import State, StepLog
from millrace.storage.record.model import StepRecord
from millrace.storage.record.step import Found, carry_out
from millrace.system.errors import Refused


class Log(StepLog):
    """One step of a journal, in memory."""

    def __init__(self, state: State) -> None:
        self._records = [StepRecord(name="array data", state=state)]

    @property
    def steps(self) -> list[StepRecord]:
        return self._records

    def _write(self, steps: list[StepRecord]) -> None:
        self._records = steps


class Thing:
    """A step that finds something, and creates it when it is called to."""

    name, title = "array data", "RAID6 data"

    def __init__(self, found: Found) -> None:
        self.found, self.did = found, list[str]()

    def inspect(self) -> Found:
        return self.found

    def activate(self) -> None:
        self.did.append("activate")
        self.found = Found.COMPLETE

    def undo(self) -> None:
        self.did.append("undo")

    def create(self) -> str:
        self.did.append("create")
        self.found = Found.COMPLETE
        return "created"


@pytest.mark.parametrize("found", [Found.INCOMPLETE, Found.STOPPED, Found.COMPLETE])
def test_what_is_there_before_the_step_began_is_of_another_owner(found: Found) -> None:
    step, log = Thing(found), Log("pending")
    with pytest.raises(
        Refused, match=r"^RAID6 data: existing data was not created by provisioning; nothing was written$"
    ):
        carry_out(step, log)
    assert (step.did, log.state(step.name)) == ([], "pending")


@pytest.mark.parametrize("found", [Found.ABSENT, Found.INCOMPLETE])
def test_what_was_created_and_is_gone_is_not_created_again(found: Found) -> None:
    step, log = Thing(found), Log("done")
    with pytest.raises(Refused, match=r"^RAID6 data: data created by provisioning is missing; nothing was written$"):
        carry_out(step, log)
    assert (step.did, log.state(step.name)) == ([], "done")


@pytest.mark.parametrize(
    ("state", "found", "did"),
    [
        ("pending", Found.ABSENT, ["create"]),
        ("started", Found.ABSENT, ["create"]),
        ("started", Found.INCOMPLETE, ["undo", "create"]),
        ("started", Found.STOPPED, ["activate"]),
        ("started", Found.COMPLETE, []),
        ("done", Found.STOPPED, ["activate"]),
        ("done", Found.COMPLETE, []),
    ],
)
def test_step_is_completed_from_wherever_it_is(state: State, found: Found, did: list[str]) -> None:
    step, log = Thing(found), Log(state)
    carry_out(step, log)
    assert (step.did, log.state(step.name)) == (did, "done")
