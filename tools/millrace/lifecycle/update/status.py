# SPDX-License-Identifier: Apache-2.0
"""The versions of this server, and what an update does at the moment."""

from collections.abc import Iterator

from millrace.lifecycle.etc import factory
from millrace.lifecycle.update import boot_entries, freshness, obstacles, records, release
from millrace.lifecycle.update.model import KernelOption, Offer, OtherVersion, Release, UpdateStatus
from millrace.lifecycle.update.planned_reboot import planned
from millrace.lifecycle.update.update_job import JOB, progress
from millrace.system.errors import BadInput, MillraceError
from millrace.system.jobs import job_paths
from millrace.system.os_release import image_version
from millrace.system.run import Runner


def status(run: Runner) -> UpdateStatus:
    """Return the versions of this server. BadInput: a record of updates cannot be read."""
    reboot = planned()
    return UpdateStatus(
        version=image_version(),
        other=_other(run),
        trial=records.trial(),
        last=records.last(),
        failed=records.failed().versions,
        url=_source(),
        refusal=_refusal(run),
        reboot=reboot.at if reboot else None,
        reboot_deferred=reboot.deferred if reboot else None,
        etc_kept=[f"/{factory.ETC}/{name}" for name in factory.unlike()],
        etc_problem=factory.trouble(),
        running=JOB.runs(run) or job_paths.update_progress_file().exists(),
        progress=progress(),
        warnings=freshness.of_source(_source()),
    )


def offer(new_release: Release, news: str, run: Runner) -> Offer:
    """Return what is to be said of a release before it is installed."""
    running = image_version()
    return Offer(
        version=new_release.version,
        running=running,
        size=sum(file.size for file in new_release.files),
        news=news,
        refusal=obstacles.of_version(new_release.version, running),
        needs=list(_needs(new_release.version, running, run)),
        expires=new_release.expires,
        warnings=freshness.of_release(new_release),
    )


def _needs(version: str, running: str, run: Runner) -> Iterator[KernelOption]:
    if obstacles.of_version(version, running, older=True, again=True):
        # no option allows it
        return
    if reason := obstacles.of_version(version, running, older=True):
        yield KernelOption(option="again", reason=reason)
    if reason := obstacles.of_version(version, running, again=True):
        yield KernelOption(option="older", reason=reason)
    problem = _refusal(run)
    if problem and obstacles.of_server(run, degraded=True) is None:
        yield KernelOption(option="degraded", reason=problem)


def _other(run: Runner) -> OtherVersion | None:
    try:
        entries = boot_entries.entries(run)
    except MillraceError:
        return None
    others = [one for one in entries if one.version != image_version()]
    if not others:
        return None
    one = max(others, key=lambda entry: release.number(entry.version))
    return OtherVersion(version=one.version, tries_left=one.left)


def _source() -> str | None:
    try:
        return records.source()
    except BadInput:
        # root alone reads it
        return None


def _refusal(run: Runner) -> str | None:
    try:
        return obstacles.of_server(run)
    except (MillraceError, OSError) as error:
        return str(error)
