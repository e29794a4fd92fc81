# SPDX-License-Identifier: Apache-2.0
"""One run of `millrace tune`: set what differs, or restore what was set before.

A setting that cannot be set is a warning; the others are set all the same.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from millrace.system.errors import MillraceError
from millrace.tune import tuner_hold
from millrace.tune.collect import Collected, Stage
from millrace.tune.knob import Setting
from millrace.tune.model import Drift, TuneReport
from millrace.tune.originals import SavedOriginals

ERRORS = (OSError, ValueError, MillraceError)


@dataclass
class _ReportBuilder:
    """The parts of a report besides the differences."""

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


def run(stages: Sequence[Stage], diff_only: bool = False, restore: bool = False) -> TuneReport:
    """Set, compare or restore all settings; `restore` goes through the stages from the last to the first.

    Settings that the tuner tries are left alone, with a warning.
    """
    report = _run([_without_held(stage) for stage in stages], diff_only, restore)
    return report.model_copy(update={"warnings": list(dict.fromkeys(report.warnings))})


def _run(stages: Sequence[Stage], diff_only: bool, restore: bool) -> TuneReport:
    originals = SavedOriginals()
    if restore:
        return merged([revert(*_collected(stage), originals) for stage in reversed(stages)])
    return merged([apply(*_collected(stage), originals, diff_only) for stage in stages])


def apply(
    settings: Sequence[Setting], warnings: Iterable[str], originals: SavedOriginals, diff_only: bool = False
) -> TuneReport:
    """Set everything that differs, or with `diff_only` only report it.

    All is read and what is about to change is kept before the first is set.
    """
    builder = _ReportBuilder(list(warnings))
    different = _different(settings, originals, builder)
    if diff_only:
        builder.warnings += [_waiting(setting, before) for setting, before in different if setting.deferred]
        return builder.report(len(settings), [_drift(*difference, False) for difference in different])
    _remember([setting for setting, _ in different if not setting.deferred], originals)
    drift = []
    for setting, before in different:
        if setting.deferred:
            builder.warnings.append(_waiting(setting, before))
            drift.append(_drift(setting, before, False))
        elif _set(setting, originals, builder):
            drift.append(_drift(setting, before, True))
    return builder.report(len(settings), drift)


def revert(settings: Sequence[Setting], warnings: Iterable[str], originals: SavedOriginals) -> TuneReport:
    """Restore what was set before, the last first; the kernel's documented default where Millrace changed nothing."""
    builder = _ReportBuilder(list(warnings))
    drift: list[Drift] = []
    for setting in reversed(settings):
        remembered = originals.original(setting.label)
        value = remembered if remembered is not None else setting.default
        if value is None or setting.deferred or originals.is_managed(setting.label):
            continue
        try:
            before = setting.read()
            if setting.original() == value:
                continue
            setting.write(value)
        except ERRORS as error:
            builder.unreadable += 1
            builder.warnings.append(f"{setting.label} cannot be restored to {value}: {_reason(error)}")
            continue
        builder.warnings += filter(None, [setting.follow_up()])
        reason = "as it was before" if remembered is not None else "the kernel's default"
        drift.append(Drift(path=setting.label, before=before, wanted=value, reason=reason, changed=True))
    return builder.report(len(settings), drift)


def merged(reports: Sequence[TuneReport]) -> TuneReport:
    """Return one report of all."""
    return TuneReport(
        settings=sum(report.settings for report in reports),
        drift=[one for report in reports for one in report.drift],
        warnings=[warning for report in reports for warning in report.warnings],
        managed=[label for report in reports for label in report.managed],
        unreadable=sum(report.unreadable for report in reports),
    )


def _without_held(stage: Stage) -> Stage:
    def collected() -> Collected:
        settings, warnings = stage()
        endings = tuner_hold.endings()
        free = [one for one in settings if not one.label.endswith(endings)]
        return free, [*warnings, *([tuner_hold.SENTENCE] if len(free) < len(settings) else [])]

    return collected


def _collected(stage: Stage) -> Collected:
    """The settings of a stage; a warning where they cannot be read: the other stages run all the same."""
    try:
        return stage()
    except ERRORS as error:
        return [], [f"some settings could not be read: {error}"]


def _different(
    settings: Sequence[Setting], originals: SavedOriginals, builder: _ReportBuilder
) -> list[tuple[Setting, str]]:
    """The settings that are not as wanted, each with what is set now."""
    different = []
    for setting in settings:
        if originals.is_managed(setting.label):
            builder.managed.append(setting.label)
            continue
        try:
            before = setting.read()
            if not setting.matches(before):
                different.append((setting, before))
        except ERRORS as error:
            builder.unreadable += 1
            builder.warnings.append(f"{setting.label} cannot be read: {_reason(error)}")
    return different


def _remember(settings: Iterable[Setting], originals: SavedOriginals) -> None:
    values = {}
    for setting in settings:
        with suppress(*ERRORS):
            value = setting.original()
            if value is not None:
                values[setting.label] = value
    if values:
        originals.save(values)


def _set(setting: Setting, originals: SavedOriginals, builder: _ReportBuilder) -> bool:
    if originals.was_rejected(setting.label, setting.wanted):
        builder.warnings.append(f"{setting.label} rejected {setting.wanted}; not retried in this boot")
        return False
    try:
        setting.write(setting.wanted)
        now = setting.read()
        if not setting.matches(now):
            raise OSError(f"the kernel reports {now}")
    except ERRORS as error:
        if isinstance(error, OSError) and error.errno in setting.refusals:
            originals.mark_managed(setting.label)
            builder.managed.append(setting.label)
        else:
            builder.warnings.append(f"{setting.label} cannot be set to {setting.wanted}: {_reason(error)}")
            if setting.interrupts:
                originals.mark_rejected(setting.label, setting.wanted)
        return False
    builder.warnings += filter(None, [setting.follow_up()])
    return True


def _waiting(setting: Setting, before: str) -> str:
    return f"{setting.label} is {before} instead of {setting.wanted}: {setting.deferred}"


def _drift(setting: Setting, before: str, changed: bool) -> Drift:
    return Drift(path=setting.label, before=before, wanted=setting.wanted, reason=setting.reason, changed=changed)


def _reason(error: Exception) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
