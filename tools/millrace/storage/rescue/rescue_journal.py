# SPDX-License-Identifier: Apache-2.0
"""The journal of a rescue: one that is open, and the last one that ended."""

from typing import Any

from millrace.storage.record.model import ArrayRecord, StepRecord
from millrace.storage.record.step_journal import StepLog
from millrace.storage.rescue.rescue_model import NewLog, Rescue
from millrace.storage.rescue.step_names import STEPS, StepName
from millrace.system import paths
from millrace.system.documents import read_model, write_model


class RescueJournal(StepLog):
    """A rescue and its file, which exists from the first confirmed step on."""

    def __init__(self, rescue: Rescue) -> None:
        self.rescue = rescue

    @classmethod
    def load(cls) -> "RescueJournal | None":
        """Return the open rescue; None if there is none. BadInput: it cannot be read."""
        path = paths.rescue_file()
        return cls(read_model(path, Rescue)) if path.exists() else None

    @classmethod
    def load_ended(cls) -> "RescueJournal | None":
        """Return the last rescue that ended; None if there was none. BadInput: it cannot be read."""
        path = paths.rescued_file()
        return cls(read_model(path, Rescue)) if path.exists() else None

    @classmethod
    def new(cls, lost: ArrayRecord, by: str, now: str) -> "RescueJournal":
        """Return a rescue that is not on disk yet; `lost` is the log, `by` a user name."""
        steps = [StepRecord(name=name, state="pending") for name in STEPS]
        number, drives = now.replace(":", "").replace("+0000", "Z"), [one.serial for one in lost.members]
        return cls(Rescue(id=number, by=by, at=now, lost=lost.uuid, lost_drives=drives, steps=steps))

    @property
    def steps(self) -> list[StepRecord]:
        """The steps of the rescue."""
        return self.rescue.steps

    @property
    def next(self) -> StepName | None:
        """The first step that is not done; None at the end."""
        return next((name for name in STEPS if self.state(name) != "done"), None)

    def keep(self, **changes: Any) -> None:
        """Put what a step found or decided on disk."""
        self.rescue = self.rescue.model_copy(update=changes)
        write_model(paths.rescue_file(), self.rescue, 0o600)

    def end(self, now: str) -> None:
        """Close the journal; it stays as that of the last rescue."""
        self.rescue = self.rescue.model_copy(update={"ended": now})
        write_model(paths.rescued_file(), self.rescue, 0o600)
        paths.rescue_file().unlink(missing_ok=True)

    def _write(self, steps: list[StepRecord]) -> None:
        self.keep(steps=steps)


class BuildLog(StepLog):
    """The steps that make the new log, in the journal of the rescue."""

    def __init__(self, journal: RescueJournal, new: NewLog) -> None:
        self._journal = journal
        self._new = new

    @property
    def steps(self) -> list[StepRecord]:
        """The steps that make the new log."""
        return self._new.steps

    def _write(self, steps: list[StepRecord]) -> None:
        self._new = self._new.model_copy(update={"steps": steps})
        self._journal.keep(new=self._new)
