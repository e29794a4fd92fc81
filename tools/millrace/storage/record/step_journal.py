# SPDX-License-Identifier: Apache-2.0
"""The write-ahead journal: a step is on disk as started before its first byte is written."""

from abc import ABC, abstractmethod
from typing import Literal

from millrace.storage.record.model import StepRecord, Transaction
from millrace.system import paths
from millrace.system.documents import read_model, write_model
from millrace.system.errors import Failed

State = Literal["pending", "started", "done"]


class StepLog(ABC):
    """The states of steps in their order, and the file that keeps them."""

    @property
    @abstractmethod
    def steps(self) -> list[StepRecord]:
        """The steps as they are on disk."""

    @abstractmethod
    def _write(self, steps: list[StepRecord]) -> None:
        """Put the steps on disk."""

    def state(self, name: str) -> State:
        """Return the state of the step `name`."""
        return next(step.state for step in self.steps if step.name == name)

    def start(self, name: str) -> None:
        """Mark a step as started, before its first write.

        Failed: a later step has begun; what it stands on is never created again.
        """
        at = [step.name for step in self.steps].index(name)
        if any(step.state != "pending" for step in self.steps[at + 1 :]):
            raise Failed(f"step '{name}' cannot be done again after later steps; the pool needs manual inspection")
        self._mark(name, "started")

    def done(self, name: str) -> None:
        """Mark a step as done, after its result has been verified."""
        self._mark(name, "done")

    def _mark(self, name: str, state: State) -> None:
        self._write([StepRecord(name=s.name, state=state if s.name == name else s.state) for s in self.steps])


class Journal(StepLog):
    """A transaction and its file."""

    def __init__(self, transaction: Transaction) -> None:
        self.transaction = transaction

    @classmethod
    def load(cls) -> "Journal | None":
        """Return the transaction that a power cut or an error left behind; None if there is none."""
        path = paths.transaction_file()
        return cls(read_model(path, Transaction)) if path.exists() else None

    @classmethod
    def open(cls, transaction: Transaction) -> "Journal":
        """Write a new transaction to disk."""
        journal = cls(transaction)
        write_model(paths.transaction_file(), transaction)
        return journal

    @property
    def steps(self) -> list[StepRecord]:
        """The steps of the transaction."""
        return self.transaction.steps

    def _write(self, steps: list[StepRecord]) -> None:
        self.transaction = self.transaction.model_copy(update={"steps": steps})
        write_model(paths.transaction_file(), self.transaction)
