# SPDX-License-Identifier: Apache-2.0
"""Set what differs. One setting that cannot be set is a warning: the others are set all the same."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from millrace.errors import MillraceError
from millrace.tune.knob import Setting
from millrace.tune.model import Drift, TuneReport
from millrace.tune.originals import Memory

ERRORS = (OSError, ValueError, MillraceError)


@dataclass
class _Tally:
    """What a report says besides the differences."""

    warnings: list[str]
    managed: list[str] = field(default_factory=list)
    unreadable: int = 0

    def report(self, settings: int, drift: list[Drift]) -> TuneReport:
        return TuneReport(
            settings=settings,
            drift=drift,
            warnings=self.warnings,
            managed=sorted(self.managed),
            unreadable=self.unreadable,
        )


def apply(settings: Sequence[Setting], warnings: Iterable[str], memory: Memory, look_only: bool = False) -> TuneReport:
    """Set everything that is not as wanted, or with `look_only` just report it.

    All is read and what is about to change is remembered before the first is set.
    """
    tally = _Tally(list(warnings))
    different = _different(settings, memory, tally)
    if look_only:
        tally.warnings += [_waiting(setting, before) for setting, before in different if setting.deferred]
        return tally.report(len(settings), [_drift(*one, False) for one in different])
    _remember([setting for setting, _ in different if not setting.deferred], memory)
    drift = []
    for setting, before in different:
        if setting.deferred:
            tally.warnings.append(_waiting(setting, before))
            drift.append(_drift(setting, before, False))
        elif _was_set(setting, memory, tally):
            drift.append(_drift(setting, before, True))
    return tally.report(len(settings), drift)


def revert(settings: Sequence[Setting], warnings: Iterable[str], memory: Memory) -> TuneReport:
    """Put back what was set before, the last first; the kernel's documented default where Millrace changed nothing."""
    tally = _Tally(list(warnings))
    drift: list[Drift] = []
    for setting in reversed(settings):
        remembered = memory.original(setting.label)
        value = remembered if remembered is not None else setting.default
        if value is None or setting.deferred or memory.is_managed(setting.label):
            continue
        try:
            before = setting.read()
            if setting.original() == value:
                continue
            setting.write(value)
        except ERRORS as error:
            tally.unreadable += 1
            tally.warnings.append(f"{setting.label} cannot be put back to {value}: {_words(error)}")
            continue
        tally.warnings += filter(None, [setting.remark()])
        reason = "as it was before" if remembered is not None else "the kernel's default"
        drift.append(Drift(path=setting.label, before=before, wanted=value, reason=reason, changed=True))
    return tally.report(len(settings), drift)


def merged(reports: Sequence[TuneReport]) -> TuneReport:
    """One report of all."""
    return TuneReport(
        settings=sum(report.settings for report in reports),
        drift=[one for report in reports for one in report.drift],
        warnings=[warning for report in reports for warning in report.warnings],
        managed=[label for report in reports for label in report.managed],
        unreadable=sum(report.unreadable for report in reports),
    )


def _different(settings: Sequence[Setting], memory: Memory, tally: _Tally) -> list[tuple[Setting, str]]:
    """The settings that are not as wanted, each with what is set now."""
    different = []
    for setting in settings:
        if memory.is_managed(setting.label):
            tally.managed.append(setting.label)
            continue
        try:
            before = setting.read()
            if not setting.holds(before):
                different.append((setting, before))
        except ERRORS as error:
            tally.unreadable += 1
            tally.warnings.append(f"{setting.label} cannot be read: {_words(error)}")
    return different


def _remember(settings: Iterable[Setting], memory: Memory) -> None:
    values = {}
    for setting in settings:
        with suppress(*ERRORS):
            value = setting.original()
            if value is not None:
                values[setting.label] = value
    if values:
        memory.remember(values)


def _was_set(setting: Setting, memory: Memory, tally: _Tally) -> bool:
    if memory.gave_up(setting.label, setting.wanted):
        tally.warnings.append(f"{setting.label} rejected {setting.wanted}; not retried in this boot")
        return False
    try:
        setting.write(setting.wanted)
        now = setting.read()
        if not setting.holds(now):
            raise OSError(f"the kernel keeps {now}")
    except ERRORS as error:
        if isinstance(error, OSError) and error.errno in setting.refusals:
            memory.leave(setting.label)
            tally.managed.append(setting.label)
        else:
            tally.warnings.append(f"{setting.label} cannot be set to {setting.wanted}: {_words(error)}")
            if setting.interrupts:
                memory.give_up(setting.label, setting.wanted)
        return False
    tally.warnings += filter(None, [setting.remark()])
    return True


def _waiting(setting: Setting, before: str) -> str:
    return f"{setting.label} is {before} instead of {setting.wanted}: {setting.deferred}"


def _drift(setting: Setting, before: str, changed: bool) -> Drift:
    return Drift(path=setting.label, before=before, wanted=setting.wanted, reason=setting.reason, changed=changed)


def _words(error: Exception) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
