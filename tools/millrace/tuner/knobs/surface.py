# SPDX-License-Identifier: Apache-2.0
"""The knobs of this server: which of the whitelist it has, and how `tune` sets each of them.

A level becomes a setting by computing the settings of the server with it; `tune` knows the files and the commands.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from millrace.errors import Failed, MillraceError, Refused
from millrace.plan.defaults import MemberSettings
from millrace.plan.settings import Settings
from millrace.provision.model import Pool
from millrace.system.documents import Contract
from millrace.system.run import Runner
from millrace.tune.arrays import array_settings
from millrace.tune.collect import sysctl_settings
from millrace.tune.knob import Setting
from millrace.tune.nfsd import nfsd_settings
from millrace.tune.originals import SavedOriginals
from millrace.tuner.knobs.entry import Entry, Facts, Load
from millrace.tuner.knobs.whitelist import LEFT_OUT, WHITELIST
from millrace.tuner.model import Combination, Knob, Level

ERRORS = (OSError, ValueError, MillraceError)
_EVERY_QUEUE = MemberSettings(requests=0, max_kib=0)


class LeftOut(Contract):
    """One setting that is not tried, and why."""

    name: str
    reason: str


@dataclass(frozen=True)
class Change:
    """One setting before it is set: what it is now, as it can be written again, and what it is to be."""

    knob: str
    setting: Setting
    old: str
    new: str


@dataclass(frozen=True)
class Surface:
    """The knobs of one server. `settings` are those of its plan, with the policy and what was measured before."""

    settings: Settings
    pool: Pool
    run: Runner
    knobs: list[Knob]
    left_out: list[LeftOut]

    @property
    def planned(self) -> Combination:
        """The level of each knob by the plan."""
        return {one.name: one.planned for one in self.knobs}

    def wanted(self, combination: Combination) -> Settings:
        """Return the settings of a combination; the plan's for what it does not name."""
        wanted = self.settings
        for name, level in combination.items():
            wanted = _entry(name).change(wanted, int(level))
        return wanted

    def changes(self, combination: Combination) -> list[Change]:
        """Return what has to be set for a combination, in the order of `tune`. Failed: a setting cannot be read."""
        found = []
        for one in settings_of(self.wanted(combination), self.pool, self.run):
            mine = [name for name in combination if _sets(_entry(name), one)]
            if not mine:
                continue
            try:
                now = one.read()
                if not one.matches(now):
                    found.append(Change(mine[0], one, one.original() or now, one.wanted))
            except ERRORS as error:
                raise Failed(f"{one.label} cannot be read: {error}") from error
        return found

    def apply(self, combination: Combination, before: Callable[[Sequence[Change]], None]) -> None:
        """Set a combination; `before` is called with all changes before the first. Failed: the kernel refuses one."""
        changes = self.changes(combination)
        if changes:
            before(changes)
        for one in changes:
            try:
                one.setting.write(one.new)
                now = one.setting.read()
            except ERRORS as error:
                raise Failed(f"{one.setting.label} cannot be set to {one.new}: {_reason(error)}") from error
            if not one.setting.matches(now):
                raise Failed(f"{one.setting.label} cannot be set to {one.new}: it is {now} afterwards")

    def differing(self, combination: Combination) -> list[str]:
        """Return the settings that are not as in a combination: something else changed them."""
        return [one.setting.label for one in self.changes(combination)]


def surface(settings: Settings, pool: Pool, run: Runner, load: Load) -> Surface:
    """Return the knobs of this server for a run with this load. Refused: its settings could not be computed."""
    basis = settings.basis
    if basis is None:
        raise Refused("the settings of this server were not computed: `millrace tune --diff` says why")
    labels = {one.label: one for one in settings_of(_with_queues(settings), pool, run)}
    knobs, left_out = [], []
    facts = Facts(settings, basis.server, basis.arrays, _kernel(labels), load)
    for entry in WHITELIST:
        try:
            knobs.append(_knob(entry, facts, labels))
        except Refused as error:
            left_out.append(LeftOut(name=entry.key, reason=str(error)))
    left_out += [LeftOut(name=name, reason=reason) for name, reason in LEFT_OUT.items()]
    return Surface(settings, pool, run, knobs, left_out)


def settings_of(wanted: Settings, pool: Pool, run: Runner) -> list[Setting]:
    """Return the settings of `tune` that knobs are made of; one that this server lacks is not among them."""
    arrays, _ = array_settings(wanted.md, pool, wanted.members)
    found = [*arrays, *sysctl_settings(wanted, pool), *nfsd_settings(wanted.nfsd, run)]
    return [one for one in found if any(_sets(entry, one) for entry in WHITELIST)]


def every_setting(settings: Settings, pool: Pool, run: Runner) -> tuple[dict[str, Setting], dict[str, str]]:
    """Return every setting that a run may have changed, by its label, and what the plan wants of those it decides."""
    everything = {one.label: one for one in settings_of(_with_queues(settings), pool, run)}
    return everything, {one.label: one.wanted for one in settings_of(settings, pool, run)}


def _knob(entry: Entry, facts: Facts, labels: dict[str, Setting]) -> Knob:
    """Refused: this server lacks it, or there is nothing to choose."""
    mine = [one for one in labels.values() if _sets(entry, one)]
    obstacle = entry.obstacle(facts)
    if obstacle is not None:
        raise Refused(obstacle)
    if entry.files and not mine:
        raise Refused("the NFS server does not run" if entry.key.startswith("nfsd.") else "this server has none")
    kernel = facts.kernel.get(entry.key)
    planned = entry.value(facts.settings)
    default = next((one for one in (kernel, entry.default(facts), planned) if one is not None), None)
    if default is None:
        raise Refused("what the kernel begins with is not known")
    planned = default if planned is None else planned
    levels = entry.levels(facts)
    least, most = min([*levels, planned]), max([*levels, planned])
    # what the kernel begins with may be more than this server allows
    default = min(max(default, least), most) if levels else default
    found: list[Level] = list(dict.fromkeys(sorted({*levels, default, planned})))
    if len(found) < 2:
        raise Refused("this server leaves no other value to choose")
    return Knob(
        name=entry.key,
        title=entry.title,
        setting=entry.setting or ", ".join(dict.fromkeys(_pattern(one.label) for one in mine)),
        levels=found,
        ordered=True,
        default=default,
        planned=planned,
        cost=entry.cost,
    )


def _kernel(labels: dict[str, Setting]) -> dict[str, int]:
    """What the kernel had for each knob before Millrace set it: as kept, else what is set where nothing is planned."""
    originals = SavedOriginals()
    found: dict[str, int] = {}
    for entry in WHITELIST:
        for one in labels.values():
            # the kernel's own are documented for these; `0` of a sysctl would mean another one
            if not one.label.endswith(entry.files[:1]) or entry.key.startswith(("nfsd.", "sysctl.")):
                continue
            try:
                text = originals.original(one.label) or (one.read() if one.wanted == "0" else one.default)
            except ERRORS:
                continue
            if text and text.isdigit():
                found.setdefault(entry.key, int(text))
    return found


def _with_queues(settings: Settings) -> Settings:
    return settings.model_copy(update={"members": _EVERY_QUEUE})


def _entry(name: str) -> Entry:
    return next(one for one in WHITELIST if one.key == name)


def _sets(entry: Entry, setting: Setting) -> bool:
    return setting.label.endswith(entry.files)


def _pattern(label: str) -> str:
    """One name for the same file of many devices."""
    _, block, rest = label.partition("/sys/class/block/")
    return f"{block}*/{rest.partition('/')[2]}" if block else label


def _reason(error: Exception) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
