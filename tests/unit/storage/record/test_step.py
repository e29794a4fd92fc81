# SPDX-License-Identifier: Apache-2.0
"""A step writes only where the journal and what is there agree: no data of another owner is overwritten."""

import pytest

from millrace.storage.record.model import StepRecord
from millrace.storage.record.step import FoundContent, carry_out
from millrace.storage.record.step_journal import State, StepLog
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

    def __init__(self, found: FoundContent) -> None:
        self.found, self.did = found, list[str]()

    def inspect(self) -> FoundContent:
        return self.found

    def activate(self) -> None:
        self.did.append("activate")
        self.found = FoundContent.COMPLETE

    def undo(self) -> None:
        self.did.append("undo")

    def create(self) -> str:
        self.did.append("create")
        self.found = FoundContent.COMPLETE
        return "created"


@pytest.mark.parametrize("found", [FoundContent.INCOMPLETE, FoundContent.STOPPED, FoundContent.COMPLETE])
def test_what_is_there_before_the_step_began_is_of_another_owner(found: FoundContent) -> None:
    step, log = Thing(found), Log("pending")
    with pytest.raises(
        Refused, match=r"^RAID6 data: existing data was not created by provisioning; nothing was written$"
    ):
        carry_out(step, log)
    assert (step.did, log.state(step.name)) == ([], "pending")


@pytest.mark.parametrize("found", [FoundContent.ABSENT, FoundContent.INCOMPLETE])
def test_what_was_created_and_is_gone_is_not_created_again(found: FoundContent) -> None:
    step, log = Thing(found), Log("done")
    with pytest.raises(Refused, match=r"^RAID6 data: data created by provisioning is missing; nothing was written$"):
        carry_out(step, log)
    assert (step.did, log.state(step.name)) == ([], "done")


@pytest.mark.parametrize(
    ("state", "found", "did"),
    [
        ("pending", FoundContent.ABSENT, ["create"]),
        ("started", FoundContent.ABSENT, ["create"]),
        ("started", FoundContent.INCOMPLETE, ["undo", "create"]),
        ("started", FoundContent.STOPPED, ["activate"]),
        ("started", FoundContent.COMPLETE, []),
        ("done", FoundContent.STOPPED, ["activate"]),
        ("done", FoundContent.COMPLETE, []),
    ],
)
def test_step_is_completed_from_wherever_it_is(state: State, found: FoundContent, did: list[str]) -> None:
    step, log = Thing(found), Log(state)
    carry_out(step, log)
    assert (step.did, log.state(step.name)) == (did, "done")
