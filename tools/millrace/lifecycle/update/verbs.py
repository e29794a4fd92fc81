# SPDX-License-Identifier: Apache-2.0
"""`millrace update …`."""

import os
import signal
import sys
from contextlib import nullcontext
from pathlib import Path

import click

from millrace.system.errors import BadInput, Refused
from millrace.system.output import Output, prints
from millrace.system.prompt import confirm
from millrace.system.run import attempt
from millrace.system.users import as_root, invoking_user, only_root
from millrace.system.verb_group import VerbGroup

TIME = "HH:MM"


@click.group(cls=VerbGroup)
def update() -> None:
    """Install another version of Millrace beside this one, try it, and go back."""


@update.command()
@prints("millrace.lifecycle.update.model:UpdateStatus")
def status(show: Output) -> None:
    """Show the versions on the boot drive, how the last update ended, and what stands in the way of one."""
    from millrace.lifecycle.update import text
    from millrace.lifecycle.update.status import status as found
    from millrace.system.run import quickly

    show(found(quickly), text.status_lines)


@update.command()
@click.argument("url", required=False)
@click.option("--remove", is_flag=True, help="Have no source; nothing is downloaded then.")
@prints("millrace.lifecycle.update.model:UpdateStatus")
def source(url: str | None, remove: bool, show: Output) -> None:
    """Set the URL of the directory in which your web server has a release. Nothing is downloaded until you say so."""
    from millrace.lifecycle.update import records, text
    from millrace.lifecycle.update.fetch import checked_url
    from millrace.lifecycle.update.status import status as found

    only_root()
    if (url is None) == (not remove):
        raise click.UsageError("name a URL, or use --remove")
    with as_root():
        records.save_source(None if url is None else checked_url(url))
        show(found(attempt), text.status_lines)


@update.command()
@click.argument("release", required=False, type=click.Path(path_type=Path))
@prints("millrace.lifecycle.update.model:Offer")
def check(release: Path | None, show: Output) -> None:
    """Show which version RELEASE is and what is new in it; without one, what the source of updates has.

    RELEASE is the directory that `tools/build --release` makes, or its archive.
    """
    from millrace.lifecycle.update import freshness, records, stage, text
    from millrace.lifecycle.update.status import offer
    from millrace.lifecycle.update.update_job import JOB

    only_root()
    with as_root(), JOB.alone():
        try:
            with stage.origin(release, attempt) as bring:
                new_release = stage.describe(bring, attempt)
            if release is None:
                records.save_checked_source(new_release)
                offered = offer(new_release, stage.news(new_release), attempt)
                offered = offered.model_copy(update={"warnings": freshness.of_source(records.source())})
            else:
                offered = offer(new_release, stage.news(new_release), attempt)
        finally:
            stage.clear()
    show(offered, text.offer_lines)


@update.command()
@click.argument("release", required=False, type=click.Path(path_type=Path))
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--reboot", default="later", metavar=f"now|{TIME}|later", help="When the new version starts.")
@click.option("--older", is_flag=True, help="Install an older version than this one.")
@click.option("--again", is_flag=True, help="Install a version that failed on this server.")
@click.option("--degraded", is_flag=True, help="Install it although arrays lack members.")
@click.option("--end-locks", is_flag=True, help="Install an older version that may not know locks of snapshots.")
@click.option("--uploaded", is_flag=True, help="Install what `update upload` or a download received.")
@prints("millrace.lifecycle.update.model:LastUpdate")
def apply(
    release: Path | None,
    yes: bool,
    reboot: str,
    older: bool,
    again: bool,
    degraded: bool,
    end_locks: bool,
    uploaded: bool,
    show: Output,
) -> None:
    """Install RELEASE beside the running version; without one, what the source of updates has.

    The new version starts with the next boot. If it does not serve as this one does, this one starts again. A download
    continues if this terminal is closed; `--uploaded` then installs it.
    """
    from millrace.lifecycle.update import abilities, download_job, install, obstacles, planned_reboot, stage, text
    from millrace.lifecycle.update.model import UpdateOrder
    from millrace.lifecycle.update.release import staged
    from millrace.lifecycle.update.status import offer
    from millrace.lifecycle.update.update_job import JOB
    from millrace.system.documents import checked

    only_root()
    if uploaded and release is not None:
        raise click.UsageError("--uploaded and a file cannot be combined")
    by = invoking_user()
    with as_root():
        with JOB.alone():
            problem = obstacles.of_server(attempt, degraded)
            if problem:
                raise Refused(problem)
            try:
                with nullcontext() if uploaded else stage.origin(release, attempt) as bring:
                    new_release = staged(attempt) if bring is None else stage.describe(bring, attempt)
                    offered = offer(new_release, stage.news(new_release), attempt)
                    problem = obstacles.of_version(new_release.version, offered.running, older, again)
                    if not end_locks:
                        problem = problem or abilities.ended_locks(new_release.version, offered.running)
                    if problem:
                        raise Refused(problem)
                    wanted = checked(
                        lambda: UpdateOrder(
                            version=new_release.version,
                            older=older,
                            again=again,
                            degraded=degraded,
                            end_locks=end_locks,
                            reboot=reboot,
                            by=by,
                        )
                    )
                    if not yes:
                        click.echo("\n".join(text.offer_lines(offered)), err=True)
                        confirm(f"Install version {new_release.version}?", "--yes")
                    if bring is not None and release is None:
                        stage.require_space(new_release, attempt)
                    elif bring is not None:
                        stage.fetch_files(new_release, bring, attempt)
            except BaseException as error:
                # what was uploaded stays for the same request with another option
                if not (uploaded and isinstance(error, Refused)):
                    stage.clear()
                raise
        if release is None and not uploaded:
            download_job.download(new_release.version, by, attempt)
        done = install.order(wanted, attempt)
        show(done, text.last_lines)
        planned_reboot.restart(reboot, attempt)


@update.command()
@click.option("--size", type=click.IntRange(min=1), metavar="BYTES", help="The size of the archive.")
@click.option("--discard", is_flag=True, help="Remove what was uploaded.")
@prints("millrace.lifecycle.update.model:UploadLine", lines=True, words="Print progress as JSON lines.")
def upload(size: int | None, discard: bool, show: Output) -> None:
    """Receive the archive of a release on standard input and verify it; `update apply --uploaded` installs it."""
    from millrace.lifecycle.update import stage, text
    from millrace.lifecycle.update.model import UploadLine
    from millrace.lifecycle.update.status import offer
    from millrace.lifecycle.update.update_job import JOB, PROGRESS
    from millrace.lifecycle.update.upload import receive

    only_root()
    if (size is None) == (not discard):
        raise click.UsageError("say the size of the archive, or use --discard")
    # a browser that goes away ends this verb: what arrived is removed
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with as_root(), JOB.alone():
        if size is None:
            stage.clear()
            return
        of = size

        def said(done: int) -> None:
            stage.report("uploading", done, of)
            if show.as_json:
                show(UploadLine(received=done, size=of))

        new_release = receive(sys.stdin.buffer, of, said, attempt)
        PROGRESS.remove()
        offered = offer(new_release, stage.news(new_release), attempt)
    show(UploadLine(received=of, size=of, offer=offered), lambda _: text.offer_lines(offered))


@update.command()
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--reboot", default="later", metavar=f"now|{TIME}|later", help="When the other version starts.")
@click.option("--end-locks", is_flag=True, help="Start a version that may not know locks of snapshots.")
@prints("millrace.lifecycle.update.model:LastUpdate")
def rollback(yes: bool, reboot: str, end_locks: bool, show: Output) -> None:
    """Let the other version on the boot drive start from now on."""
    from millrace.lifecycle.update import install, planned_reboot, text
    from millrace.lifecycle.update.model import UpdateOrder
    from millrace.system.documents import checked

    only_root()
    by = invoking_user()
    checked(lambda: UpdateOrder(version="0", reboot=reboot, by=by))
    if not yes:
        confirm("Start the other version from now on?", "--yes")
    with as_root():
        show(install.rollback(attempt, by, end_locks), text.last_lines)
        planned_reboot.restart(reboot, attempt, planned_reboot.GO_ON)


@update.command()
@click.argument("when", metavar=f"now|{TIME}|later")
@click.option("--lose-locks", is_flag=True, help="Reboot now although NFS clients lose their locks.")
@prints("millrace.lifecycle.update.model:UpdateStatus")
def reboot(when: str, lose_locks: bool, show: Output) -> None:
    """Change when the other version starts; `later` cancels a planned reboot."""
    from millrace.lifecycle.update import planned_reboot, text
    from millrace.lifecycle.update.model import UpdateOrder
    from millrace.lifecycle.update.status import status as found
    from millrace.system.documents import checked

    only_root()
    if lose_locks and when != "now":
        raise click.UsageError("--lose-locks is for `now` only")
    wanted = checked(lambda: UpdateOrder(version="0", reboot=when, by=invoking_user()))
    with as_root():
        planned_reboot.replan(wanted.reboot, attempt, lose_locks=lose_locks)
        show(found(attempt), text.status_lines)


@update.command("reboot-planned", hidden=True)
def reboot_planned() -> None:
    """Reboot as planned, unless a job runs that this would end (started by millrace-planned-reboot.timer)."""
    from millrace.lifecycle.update import planned_reboot

    only_root()
    with as_root():
        if sentence := planned_reboot.carry_out(attempt):
            click.echo(f"the planned reboot waits: {sentence}")


@update.command("install", hidden=True)
@prints("millrace.lifecycle.update.model:LastUpdate")
def install_(show: Output) -> None:
    """Install what was ordered (started by `update apply` as millrace-update.service)."""
    from millrace.lifecycle.update import install, text

    with as_root():
        show(install.install(attempt), text.last_lines)


@update.command("install-cleanup", hidden=True)
def install_cleanup() -> None:
    """Record an installation that was killed (millrace-update.service at its end)."""
    from millrace.lifecycle.update import install

    only_root()
    with as_root():
        install.clean_up(attempt)


@update.command(hidden=True)
def judge() -> None:
    """Judge a version that is on trial (started by millrace-boot-check.service)."""
    from millrace.lifecycle.update import trial
    from millrace.system.run import quickly

    with as_root():
        for line in trial.judge(quickly):
            click.echo(line)


@update.command(hidden=True)
def measure() -> None:
    """Count the members of the arrays before another version is tried (the end of millrace-trial.service)."""
    from millrace.lifecycle.update import trial
    from millrace.system.run import quickly

    with as_root():
        trial.last_look(quickly)


@update.command(hidden=True)
def documents() -> None:
    """Give this version its documents back after a later one ran (started by millrace-documents.service)."""
    from millrace.lifecycle.update import documents as documents_
    from millrace.system.os_release import image_version

    with as_root():
        for name in documents_.restore(image_version()):
            click.echo(f"{name} was written by a later version: this version has it as it left it")


@update.command("download-execute", hidden=True)
def download_execute() -> None:
    """Download the files of the version that was ordered (started by millrace-update-download.service)."""
    from millrace.lifecycle.update.download_job import execute

    # what arrived is removed
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    only_root()
    with as_root():
        execute(attempt)


@update.command("download-cleanup", hidden=True)
def download_cleanup() -> None:
    """Record a download that was killed (millrace-update-download.service at its end)."""
    from millrace.lifecycle.update.download_job import clean_up

    only_root()
    with as_root():
        clean_up(attempt)


@update.command(hidden=True)
def fetch() -> None:
    """Download one file to standard output (started by millrace-update-fetch.service, without rights)."""
    from millrace.lifecycle.update.fetch import fetch as download
    from millrace.lifecycle.update.model import Fetch
    from millrace.system.documents import read_model

    directory = os.environ.get("CREDENTIALS_DIRECTORY")
    if not directory:
        raise BadInput("this is for millrace-update-fetch.service: millrace update apply")
    download(read_model(Path(directory) / "fetch", Fetch), sys.stdout.buffer)
