# SPDX-License-Identifier: Apache-2.0
"""The knobs of this server: which of the whitelist it has, and how `tune` sets each of them.

A level becomes a setting by computing the settings of the server with it; `tune` knows the files and the commands, and
their order: the number of a port's queues decides which interrupts there are.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from millrace.measure.tuner.knobs.checks import check_settings
from millrace.measure.tuner.knobs.entry import LevelFacts, Load, WhitelistEntry
from millrace.measure.tuner.knobs.levels import ERRORS, knob, of_kernel, sets, words
from millrace.measure.tuner.knobs.links import links
from millrace.measure.tuner.knobs.whitelist import LEFT_OUT, WHITELIST
from millrace.measure.tuner.model import Combination, LeftOut, TunerKnob
from millrace.plan.settings import Settings
from millrace.storage.record.model import Pool
from millrace.system.errors import Failed, Refused
from millrace.system.run import Runner
from millrace.tune import topology
from millrace.tune.arrays import array_settings
from millrace.tune.coalescing import CoalescingKnob, coalescing_settings
from millrace.tune.collect import sysctl_settings
from millrace.tune.ethtool import RingKnob
from millrace.tune.knob import Setting
from millrace.tune.nfsd import io_settings, nfsd_settings
from millrace.tune.ports import core_settings, queue_settings, read_ports
from millrace.tune.rebuild_speed import pace_settings
from millrace.tune.unmanaged import with_all


@dataclass(frozen=True)
class KnobChange:
    """One setting before it is set: what it is now, as it can be written again, and what it is to be."""

    knob: str
    setting: Setting
    old: str
    new: str


@dataclass(frozen=True)
class KnobSurface:
    """The knobs of one server. `settings` are those of its plan, with the policy and what was measured before."""

    settings: Settings
    pool: Pool
    run: Runner
    knobs: list[TunerKnob]
    left_out: list[LeftOut]

    @property
    def planned(self) -> Combination:
        """The level of each knob by the plan."""
        return {one.name: one.planned for one in self.knobs}

    def wanted(self, combination: Combination) -> Settings:
        """Return the settings of a combination; the plan's for what it does not name."""
        wanted = self.settings
        for name, level in combination.items():
            wanted = _entry(name).change(wanted, level)
        return wanted

    def changes(self, combination: Combination) -> list[KnobChange]:
        """Return what differs from a combination, in the order of `tune`. Failed: a setting cannot be read."""
        return [one for found in self._stages(combination) for one in found]

    def endings(self, knobs: Iterable[TunerKnob]) -> list[str]:
        """Return what the labels of all settings of the knobs end in."""
        return sorted({ending for one in knobs for ending in _entry(one.name).files})

    def _stages(self, combination: Combination) -> Iterator[list[KnobChange]]:
        for found in stages_of(self.wanted(combination), self.pool, self.run):
            yield self._differing(combination, found)

    def _differing(self, combination: Combination, settings: Iterable[Setting]) -> list[KnobChange]:
        changes = []
        for setting in settings:
            mine = [name for name in combination if sets(_entry(name), setting)]
            if not mine:
                continue
            try:
                now = setting.read()
                if not setting.matches(now):
                    changes.append(KnobChange(mine[0], setting, setting.original() or now, setting.wanted))
            except ERRORS as error:
                raise Failed(f"{setting.label} cannot be read: {error}") from error
        return changes

    def apply(self, combination: Combination, before: Callable[[Sequence[KnobChange]], None]) -> None:
        """Set a combination; `before` is called with the changes of a stage before its first.

        Failed: the kernel refuses one, or a port has no link afterwards.
        """
        for changes in self._stages(combination):
            connected = links(self.run) if any(change.setting.interrupts for change in changes) else None
            if changes:
                before(changes)
            self._write(changes)
            if connected is not None:
                connected.wait()

    def _write(self, changes: Iterable[KnobChange]) -> None:
        for one in changes:
            try:
                one.setting.write(one.new)
                now = one.setting.read()
            except ERRORS as error:
                raise Failed(f"{one.setting.label} cannot be set to {one.new}: {words(error)}") from error
            if not one.setting.matches(now):
                raise Failed(f"{one.setting.label} cannot be set to {one.new}: it is {now} afterwards")

    def refused(self, knobs: Iterable[TunerKnob], before: Callable[[Sequence[KnobChange]], None]) -> list[LeftOut]:
        """Set each level of the knobs that a driver may refuse; return those that it refuses, with its words.

        `before` as for `apply`. Failed: the plan's level cannot be set again.
        """
        refusals = []
        for each_knob in knobs:
            if not _entry(each_knob.name).may_refuse:
                continue
            try:
                for level in each_knob.levels:
                    self.apply({each_knob.name: level}, before)
            except Failed as error:
                refusals.append(LeftOut(name=each_knob.name, reason=str(error)))
            self.apply({each_knob.name: each_knob.planned}, before)
        return refusals

    def differing(self, combination: Combination) -> list[str]:
        """Return the settings that are not as in a combination: something else changed them."""
        return [one.setting.label for one in self.changes(combination)]


def surface(settings: Settings, pool: Pool, run: Runner, load: Load) -> KnobSurface:
    """Return the knobs of this server for a run with this load. Refused: its settings could not be computed."""
    basis = settings.basis
    if basis is None:
        raise Refused("the settings of this server were not computed: `millrace tune --diff` shows the reason")
    labels = {setting.label: setting for setting in settings_of(with_all(settings), pool, run)}
    knobs, left_out = [], []
    adaptive = all(setting.can_adapt for setting in labels.values() if isinstance(setting, CoalescingKnob))
    rings: dict[str, int] = {}
    for setting in labels.values():
        if isinstance(setting, RingKnob):
            rings[setting.direction] = min(setting.most, rings.get(setting.direction, setting.most))
    facts = LevelFacts(settings, basis.server, basis.arrays, of_kernel(WHITELIST, labels), load, adaptive, rings)
    for entry in WHITELIST:
        try:
            knobs.append(knob(entry, facts, labels))
        except Refused as error:
            left_out.append(LeftOut(name=entry.key, reason=str(error)))
    left_out += [LeftOut(name=name, reason=reason) for name, reason in LEFT_OUT.items()]
    return KnobSurface(settings, pool, run, knobs, left_out)


def settings_of(wanted: Settings, pool: Pool, run: Runner) -> list[Setting]:
    """Return the settings of `tune` that knobs are made of; one that this server lacks is not among them."""
    return [one for found in stages_of(wanted, pool, run) for one in found]


def stages_of(wanted: Settings, pool: Pool, run: Runner) -> Iterator[list[Setting]]:
    """Yield them in the stages of `tune`: each is read when those of the one before are set."""
    view = read_ports(topology.cores(), run, wanted.ports)
    yield _tried(queue_settings(view, wanted.ports, run))
    arrays, _ = array_settings(wanted.md, pool, wanted.members)
    nfs = [*nfsd_settings(wanted.nfsd, run), *io_settings(wanted.io)]
    ports = [*core_settings(view, wanted.ports), *coalescing_settings(wanted.ports, view.ports, run)]
    floors = pace_settings(wanted.md, pool, wanted.rebuild.least)
    yield _tried([*arrays, *floors, *sysctl_settings(wanted, pool), *nfs, *ports])


def _tried(settings: Iterable[Setting]) -> list[Setting]:
    return [one for one in settings if any(sets(entry, one) for entry in WHITELIST)]


def every_setting(settings: Settings, pool: Pool, run: Runner) -> tuple[dict[str, Setting], dict[str, str]]:
    """Return every setting that a run may have changed, by its label, and what the plan wants of those it decides."""
    planned = settings_of(settings, pool, run)
    found = [*settings_of(with_all(settings), pool, run), *check_settings(pool), *planned]
    return {one.label: one for one in found}, {one.label: one.wanted for one in planned}


def _entry(name: str) -> WhitelistEntry:
    return next(one for one in WHITELIST if one.key == name)
