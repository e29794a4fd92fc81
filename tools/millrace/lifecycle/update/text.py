# SPDX-License-Identifier: Apache-2.0
"""Versions and updates, in lines."""

from collections.abc import Iterator

from millrace.lifecycle.etc.factory import FACTORY
from millrace.lifecycle.update.model import LastUpdate, Offer, UpdateStatus
from millrace.system.printing import notes
from millrace.system.text import moment, size

OUTCOMES = {
    "installed": "was installed; it starts at the next boot",
    "accepted": "was accepted",
    "failed": "failed, {before} runs again",
    "interrupted": "was not installed: the server went down meanwhile",
    "refused": "was not installed",
    "rolled-back": "was rolled back to {before}",
}


def status_lines(found: UpdateStatus) -> Iterator[str]:
    """Yield what `update status` prints."""
    yield f"version {found.version}"
    if found.other is not None:
        tries = "" if found.other.tries_left is None else f", {found.other.tries_left} starts left"
        yield f"other version on the boot drive: {found.other.version}{tries}"
    if found.trial is not None:
        yield f"version {found.trial.version} is installed and not accepted yet"
    if found.reboot is not None:
        yield f"reboot planned at {moment(found.reboot)}"
    yield from (f"{one} was changed here; this version has another: /{FACTORY}/{one[5:]}" for one in found.etc_kept)
    if found.etc_problem is not None:
        yield f"/etc is not as this version brings it: {found.etc_problem}"
    if found.progress is not None:
        yield f"an update is under way: {found.progress.step}"
    elif found.running:
        yield "an update is under way"
    if found.last is not None:
        yield from last_lines(found.last)
    yield from (f"failed on this server: {one.version}, {moment(one.at)}" for one in found.failed)
    if found.url is not None:
        yield f"source of updates: {found.url}"
    if found.refusal is not None:
        yield f"no update can be installed now: {found.refusal}"


def last_lines(last: LastUpdate) -> Iterator[str]:
    """Yield how an update ended."""
    outcome = OUTCOMES[last.state].format(before=last.before)
    yield f"version {last.version} {outcome} ({moment(last.at)}, {last.by})"
    yield from notes(last.problems)


def offer_lines(found: Offer) -> Iterator[str]:
    """Yield what `update check` prints; the text of a release is foreign text."""
    yield f"version {found.version}, {size(found.size)}; this server runs {found.running}"
    yield from notes(found.news.splitlines())
    if found.refusal:
        yield f"it is not installed as it is: {found.refusal}"
