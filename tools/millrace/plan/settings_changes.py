# SPDX-License-Identifier: Apache-2.0
"""What changed between two boots, and what caused it: hardware, policy, pool or release. Pure."""

from pydantic import JsonValue

from millrace.plan.model import Decision
from millrace.plan.settings import Basis, Cause, SettingChange, Settings, settings_of
from millrace.plan.values import in_words


def changes(before: Settings, after: Settings, at: str | None = None) -> list[SettingChange]:
    """Return the settings that differ, with the reason of the new value and what caused the difference.

    One that only one of the two has is of another layout or another release, and no change.
    """
    known = {decision.name: decision for decision in before.values}
    causes = _Causes(before, after)
    return [
        SettingChange(
            name=decision.name,
            before=known[decision.name].value,
            after=decision.value,
            before_text=in_words(decision.name, known[decision.name].value),
            after_text=in_words(decision.name, decision.value),
            reason=decision.reason,
            source=decision.source,
            causes=causes.of(decision, known[decision.name].value),
            at=at,
        )
        for decision in after.values
        if decision.name in known and known[decision.name].value != decision.value
    ]


def merged_changes(earlier: list[SettingChange], later: list[SettingChange]) -> list[SettingChange]:
    """Return the changes since what `earlier` began with; one that is back at its first value is none."""
    first = {one.name: {"before": one.before, "before_text": one.before_text} for one in earlier}
    new = {one.name: one.model_copy(update=first.get(one.name)) for one in later}
    return [one for one in ({one.name: one for one in earlier} | new).values() if one.before != one.after]


def caused_by(change: SettingChange) -> str:
    """Return what caused a change: `policy`, `hardware and policy`."""
    return " and ".join("unknown cause" if one == "unknown" else one for one in change.causes)


def sentence(change: SettingChange) -> str:
    """Return `nfsd.threads: min_per_pool 8, max 32 -> min_per_pool 8, max 64 (policy)`."""
    return f"{change.name}: {change.before_text} -> {change.after_text} ({caused_by(change)})"


class _Causes:
    """What caused a difference: each part of the basis without whose change the new value would be another."""

    def __init__(self, before: Settings, after: Settings) -> None:
        self._old: dict[str, JsonValue] | None = None
        self._without: dict[Cause, dict[str, JsonValue]] = {}
        if before.basis is None or after.basis is None:
            return
        old, new = before.basis, after.basis
        others: dict[Cause, Basis] = {
            "hardware": new.model_copy(update={"server": old.server, "link": old.link, "ports": old.ports}),
            "pool": new.model_copy(update={"arrays": old.arrays}),
            "policy": new.model_copy(update={"policy": old.policy}),
        }
        self._old = _values(settings_of(old))
        self._without = {cause: _values(settings_of(basis)) for cause, basis in others.items() if basis != new}

    def of(self, value: Decision, before: JsonValue) -> list[Cause]:
        if self._old is None:
            return ["unknown"]
        found: list[Cause] = [cause for cause, values in self._without.items() if values.get(value.name) != value.value]
        if self._old.get(value.name) != before:
            found.append("release")
        # two parts that changed, each of which alone has this effect
        return found or list(self._without)


def _values(settings: Settings) -> dict[str, JsonValue]:
    return {one.name: one.value for one in settings.values}
