# SPDX-License-Identifier: Apache-2.0
"""Versions and updates, in lines."""

from collections.abc import Iterator

from millrace.lifecycle.etc.factory import FACTORY
from millrace.lifecycle.update.model import LastUpdate, Offer, UpdateStatus
from millrace.lifecycle.update.planned_reboot import AGAIN
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


def status_lines(status: UpdateStatus) -> Iterator[str]:
    """Yield what `update status` prints."""
    yield f"version {status.version}"
    if status.other is not None:
        tries = "" if status.other.tries_left is None else f", {status.other.tries_left} starts left"
        yield f"other version on the boot drive: {status.other.version}{tries}"
    if status.trial is not None:
        yield f"version {status.trial.version} is installed and not accepted yet"
    if status.reboot is not None:
        yield f"reboot planned at {moment(status.reboot)}"
    if status.reboot_deferred is not None:
        yield f"the reboot waits, and is tried again every {AGAIN // 60} minutes: {status.reboot_deferred}"
    yield from (f"{path} was changed here; this version has another: /{FACTORY}/{path[5:]}" for path in status.etc_kept)
    if status.etc_problem is not None:
        yield f"/etc is not as this version brings it: {status.etc_problem}"
    if status.progress is not None:
        yield f"an update is under way: {status.progress.step}"
    elif status.running:
        yield "an update is under way"
    if status.last is not None:
        yield from last_lines(status.last)
    yield from (f"failed on this server: {failure.version}, {moment(failure.at)}" for failure in status.failed)
    if status.url is not None:
        yield f"source of updates: {status.url}"
    yield from (f"warning: {warning}" for warning in status.warnings)
    if status.refusal is not None:
        yield f"no update can be installed now: {status.refusal}"


def last_lines(last: LastUpdate) -> Iterator[str]:
    """Yield how an update ended."""
    outcome = OUTCOMES[last.state].format(before=last.before)
    yield f"version {last.version} {outcome} ({moment(last.at)}, {last.by})"
    yield from notes(last.problems)


def offer_lines(found: Offer) -> Iterator[str]:
    """Yield what `update check` prints; the text of a release is foreign text."""
    yield f"version {found.version}, {size(found.size)}; this server runs {found.running}"
    yield from notes(found.news.splitlines())
    yield from (f"warning: {warning}" for warning in found.warnings)
    if found.refusal:
        yield f"it is not installed as it is: {found.refusal}"
