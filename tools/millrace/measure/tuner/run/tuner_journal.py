# SPDX-License-Identifier: Apache-2.0
"""The write-ahead journal of a run: each setting with what it was, on disk before it is changed."""

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from millrace.measure.tuner.knobs.surface import KnobChange
from millrace.system import paths
from millrace.system.boot import boot_id
from millrace.system.documents import Contract, read_model, write_model


class Changed(Contract):
    """One setting that a run changed: its knob, what an administrator finds it by, what it was and what it is."""

    knob: str
    setting: str
    old: str
    new: str


class JournalFile(Contract):
    """The settings that the run changed in the boot with the ID `boot`, in the order of their first change."""

    schema_version: Literal[1] = 1
    run: str
    boot: str
    changed: list[Changed] = Field(default_factory=list)


class TunerJournal:
    """The journal of one run. Its file is there from the first change until everything is restored."""

    def __init__(self, run: str) -> None:
        self._file = JournalFile(run=run, boot=boot_id())

    def before(self, changes: Sequence[KnobChange]) -> None:
        """Put changes on disk before they are made. OSError: they cannot be written, so none of them may be made."""
        known = {one.setting: one for one in self._file.changed}
        for one in changes:
            label = one.setting.label
            old = known[label].old if label in known else one.old
            known[label] = Changed(knob=one.knob, setting=label, old=old, new=one.new)
        self._file = self._file.model_copy(update={"changed": list(known.values())})
        write_model(paths.tuner_journal_file(), self._file)


def load() -> JournalFile | None:
    """Return what a run has changed; None where everything is as it was. BadInput: it cannot be read."""
    return read_model(paths.tuner_journal_file(), JournalFile) if paths.tuner_journal_file().exists() else None


def in_force() -> JournalFile | None:
    """Return what may still be set of a run in this boot; settings of an earlier boot are gone with it.

    BadInput: the journal cannot be read.
    """
    found = load()
    return found if found is not None and found.changed and found.boot == boot_id() else None


def keep(left: JournalFile) -> None:
    """Write what could not be restored yet; remove the journal where nothing is left."""
    if left.changed:
        write_model(paths.tuner_journal_file(), left)
    else:
        paths.tuner_journal_file().unlink(missing_ok=True)
