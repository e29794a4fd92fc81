# SPDX-License-Identifier: Apache-2.0
"""From a line of the whitelist to a knob of this server, with its levels."""

import re
from collections.abc import Iterable, Mapping

from millrace.measure.tuner.knobs.entry import LevelFacts, WhitelistEntry
from millrace.measure.tuner.model import Level, TunerKnob
from millrace.plan.defaults import ADAPTIVE
from millrace.system.errors import MillraceError, Refused
from millrace.tune.knob import Setting
from millrace.tune.originals import SavedOriginals

ERRORS = (OSError, ValueError, MillraceError)
_NONE = {"nfsd": "the NFS server does not run", "ports": "no driver of a network port reports it"}


def knob(entry: WhitelistEntry, facts: LevelFacts, settings: Mapping[str, Setting]) -> TunerKnob:
    """Return a knob, `settings` by their labels. Refused: this server lacks it, or there is nothing to choose."""
    obstacle = entry.obstacle(facts)
    if obstacle is not None:
        raise Refused(obstacle)
    mine = [setting for setting in settings.values() if sets(entry, setting)]
    if entry.files and not mine:
        raise Refused(_NONE.get(entry.key.partition(".")[0], "this server has none"))
    _readable(mine)
    planned = entry.value(facts.settings)
    if entry.may_refuse and planned is None and len(set(_before(entry, settings))) > 1:
        raise Refused(f"the network ports differ in it: set {entry.key} in the policy first")
    before = facts.kernel.get(entry.key), entry.default(facts), planned
    default = next((level for level in before if level is not None), None)
    if default is None:
        raise Refused("what the kernel begins with is not known")
    planned = default if planned is None else planned
    levels = entry.levels(facts)
    numbers = [level for level in [*levels, planned] if isinstance(level, int)]
    if levels and isinstance(default, int):
        # what the kernel begins with may be more than this server allows
        default = min(max(default, min(numbers)), max(numbers))
    choices = list(dict.fromkeys([*levels, default, planned]))
    # a word among numbers has no place in their order
    ordered = all(isinstance(level, int) for level in choices)
    if len(choices) < 2:
        raise Refused("this server leaves no other value to choose")
    return TunerKnob(
        name=entry.key,
        title=entry.title,
        setting=entry.setting or ", ".join(dict.fromkeys(_pattern(setting.label) for setting in mine)),
        levels=sorted(choices, key=int) if ordered else choices,
        ordered=ordered,
        default=default,
        planned=planned,
        cost=entry.cost,
    )


def of_kernel(entries: Iterable[WhitelistEntry], settings: Mapping[str, Setting]) -> dict[str, Level]:
    """Return by key what was set before Millrace set it: as kept, else what is set where nothing is planned."""
    found = {entry.key: _before(entry, settings) for entry in entries}
    return {key: levels[0] for key, levels in found.items() if levels}


def sets(entry: WhitelistEntry, setting: Setting) -> bool:
    """Whether a setting is one of those of a line of the whitelist."""
    return setting.label.endswith(entry.files)


def words(error: Exception) -> str:
    """Return an error in the words of the kernel, without the path that a sentence names before them."""
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)


def _readable(settings: Iterable[Setting]) -> None:
    """Refused: one of them is not shown, such as the files of debugfs where the kernel is locked down."""
    for one in settings:
        try:
            one.read()
        except ERRORS as error:
            raise Refused(f"{one.label} cannot be read: {words(error)}") from error


def _pattern(label: str) -> str:
    """One name for the same file of many devices."""
    _, block, rest = label.partition("/sys/class/block/")
    command = re.sub(r"^.*(/proc/irq/)\d+", r"\1*", re.sub(r"^(ethtool -\w) \S+", r"\1 PORT", label))
    return f"{block}*/{rest.partition('/')[2]}" if block else command


def _before(entry: WhitelistEntry, settings: Mapping[str, Setting]) -> list[Level]:
    """The levels of each device before Millrace set them."""
    if not entry.reported:
        return []
    originals = SavedOriginals()
    levels: list[Level] = []
    for setting in settings.values():
        if not setting.label.endswith(entry.files[:1]):
            continue
        try:
            text = originals.original(setting.label) or (setting.read() if setting.wanted == "0" else setting.default)
        except ERRORS:
            continue
        if text and (text.isdigit() or text == ADAPTIVE):
            levels.append(int(text) if text.isdigit() else text)
    return levels
