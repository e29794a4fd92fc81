# SPDX-License-Identifier: Apache-2.0
"""Errors of memory modules, as the kernel counts them (EDAC); each module is named by the label of its slot."""

from datetime import UTC, datetime

from millrace.inventory import error_counters
from millrace.inventory.error_counters import Module
from millrace.observe.health.host import Host
from millrace.observe.health.model import HealthFinding, Level
from millrace.storage.drive import counter_rises, hardware_errors
from millrace.system import paths

NAME = "memory"

A_DAY = 10
"""Corrected errors of a module on one day that are a warning.

A particle flips a bit of a module less than once in months, a cell that fails does it with each access. mcelog has had
the same limit for a module, 10 in 24 hours, as its default for 15 years.
"""
DAYS = 7
"""So many days such errors are reported: a module that failed once in a week is the same module."""


def check(host: Host) -> list[HealthFinding]:
    """Return one finding for each module with errors, else one for all; nothing where the kernel counts none."""
    modules = error_counters.modules(paths.ROOT)
    if not modules:
        return []
    today = datetime.now(UTC).date()
    counted = hardware_errors.of_modules(modules)
    risen = counter_rises.days(host.rises, counted, counter_rises.boot_id(), today, DAYS)
    found = [finding for one in modules for finding in _module(one, risen)]
    return found or [HealthFinding(check=NAME, level=Level.OK, sentence="ECC reports no memory that fails.")]


def _module(module: Module, risen: counter_rises.RisenDays) -> list[HealthFinding]:
    lost = risen.get(hardware_errors.memory_key(module.key, hardware_errors.UNCORRECTED), {})
    corrected = risen.get(hardware_errors.memory_key(module.key, hardware_errors.CORRECTED), {})
    findings = []
    if module.uncorrected or lost:
        # what was before the restart may be the reason for it, and the module may be another one since
        level, when = (
            (Level.FAIL, "") if module.uncorrected else (Level.WARN, ", the last before this start of the server")
        )
        times = module.uncorrected or sum(lost.values())
        since = f" since {min(lost).isoformat()}" if lost else " since this server was started"
        sentence = f"{module.title}: {_errors(times)} that ECC could not correct{since}{when}."
        findings.append(_finding(module, "uncorrected", level, sentence, "Replace the module."))
    if max(corrected.values(), default=0) >= A_DAY:
        sentence = (
            f"{module.title}: ECC corrected {_errors(sum(corrected.values()))} since {min(corrected).isoformat()}."
        )
        todo = "Reseat the module while the server is off; replace it if more errors follow."
        findings.append(_finding(module, "corrected", Level.WARN, sentence, todo))
    return findings


def _errors(count: int) -> str:
    return f"{count} error{'s' * (count != 1)}"


def _finding(one: Module, kind: str, level: Level, sentence: str, todo: str) -> HealthFinding:
    return HealthFinding(check=NAME, kind=kind, subject=one.key, level=level, sentence=sentence, todo=todo)
