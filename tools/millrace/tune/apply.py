# SPDX-License-Identifier: Apache-2.0
"""Set what differs. A knob that another kernel does not have is a warning, never a failure."""

from collections.abc import Iterable

from millrace.tune.knob import Knob
from millrace.tune.model import Drift, TuneReport


def apply(knobs: Iterable[Knob], warnings: Iterable[str] = (), look_only: bool = False) -> TuneReport:
    """Set every knob that is not as wanted, or with `look_only` just report it."""
    told = list(warnings)
    drift: list[Drift] = []
    count = 0
    for knob in knobs:
        count += 1
        try:
            before = knob.read()
            if knob.holds(before):
                continue
            if not look_only:
                _set(knob)
        except OSError as error:
            told.append(f"{knob.path} cannot be set to {knob.wanted}: {error.strerror or error}")
            continue
        drift.append(
            Drift(path=str(knob.path), before=before, wanted=knob.wanted, reason=knob.reason, changed=not look_only)
        )
    return TuneReport(settings=count, drift=drift, warnings=told)


def _set(knob: Knob) -> None:
    knob.write()
    now = knob.read()
    if not knob.holds(now):
        raise OSError(f"the kernel keeps {now}")
