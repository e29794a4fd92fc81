# SPDX-License-Identifier: Apache-2.0
"""`millrace backup …`."""

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from millrace.serve.config.completion import SHARES
from millrace.system.output import Output, prints
from millrace.system.verb_group import VerbGroup

if TYPE_CHECKING:
    from millrace.protect.backup.backup_add import BackupWish
    from millrace.protect.backup.backup_model import BackupTask

_MODEL = "millrace.protect.backup.backup_model"
_PROGRESS = "Print progress as JSON lines."


@click.group(cls=VerbGroup)
def backup() -> None:
    """Back shares up off site with restic: to S3, to an SFTP server, or to a REST server of restic."""


def _hours(name: str, default: int, words: str) -> Any:
    return click.option(name, type=click.IntRange(1, 24 * 366), metavar="HOURS", default=default, help=words)


def _kept(name: str, default: int, words: str) -> Any:
    return click.option(name, type=click.IntRange(0, 1000), metavar="NUMBER", default=default, help=words)


def _where(verb: Any) -> Any:
    """The arguments and options of a repository, which `add` and `attach` have in common."""
    for decorate in reversed(
        (
            click.argument("name"),
            click.argument("share", shell_complete=SHARES),
            click.argument("target"),
            click.option("--user", metavar="NAME", help="User of the REST server, or ID of the S3 key."),
            click.option("--secret-stdin", is_flag=True, help="Read the secret of that user from standard input."),
            click.option(
                "--ca",
                metavar="FILE",
                type=click.Path(exists=True, dir_okay=False),
                help="Certificate of the authority of the target, which alone is trusted then.",
            ),
            click.option(
                "--host-key",
                metavar="SHA256:…",
                help="Fingerprint of the host key of the SFTP server; without it, the key is shown and confirmed.",
            ),
            _hours("--every", 24, "A run is due so often (default: 24)."),
            _hours("--check-every", 168, "A check is due so often (default: 168)."),
            _hours("--drill-every", 168, "A drill is due so often (default: 168)."),
            _kept("--daily", 14, "Daily versions that are kept (default: 14)."),
            _kept("--weekly", 8, "Weekly versions that are kept (default: 8)."),
            _kept("--monthly", 12, "Monthly versions that are kept (default: 12)."),
            click.option("--append-only", is_flag=True, help="The target lets this server add and not remove."),
            click.option(
                "--limit",
                type=click.IntRange(1, 100_000),
                metavar="MB/S",
                help="Most megabytes a second that are sent.",
            ),
        )
    ):
        verb = decorate(verb)
    return verb


@backup.command()
@_where
@prints(f"{_MODEL}:BackupAdded")
def add(show: Output, secret_stdin: bool, host_key: str | None, **given: Any) -> None:
    """Add the backup NAME of SHARE to TARGET, with a repository of its own.

    TARGET is s3:https://HOST/BUCKET, sftp://USER@HOST/DIRECTORY or rest:https://HOST:8000/NAME. The password of the
    repository is made and shown: keep it on paper. The first run makes the repository.
    """
    from millrace.protect.backup import backup_text
    from millrace.protect.backup.backup_add import Typed
    from millrace.protect.backup.backup_add import add as add_backup
    from millrace.system.prompt import secret
    from millrace.system.run import attempt

    typed = Typed(
        secret=lambda title: secret(title, secret_stdin, "--secret-stdin"),
        password=None,
        host_key=lambda fingerprint: _pinned(fingerprint, host_key),
    )
    show(add_backup(_wish(given), typed, attempt), backup_text.added)


@backup.command()
@_where
@click.option("--password-stdin", is_flag=True, help="Read the password from standard input, after a --secret-stdin.")
@prints(f"{_MODEL}:BackupAdded")
def attach(show: Output, secret_stdin: bool, host_key: str | None, password_stdin: bool, **given: Any) -> None:
    """Attach a repository that exists, such as that of a server that was lost.

    Its password is prompted for. SHARE need not exist: `millrace backup restore` brings it back as a snapshot. The
    backup is paused until `millrace backup resume`, or until its first run.
    """
    from millrace.protect.backup import backup_text
    from millrace.protect.backup.backup_add import Typed
    from millrace.protect.backup.backup_add import add as add_backup
    from millrace.system.prompt import secret
    from millrace.system.run import attempt

    typed = Typed(
        secret=lambda title: secret(title, secret_stdin, "--secret-stdin"),
        password=lambda: secret("Password of the repository", password_stdin, "--password-stdin"),
        host_key=lambda fingerprint: _pinned(fingerprint, host_key),
    )
    show(add_backup(_wish(given), typed, attempt), backup_text.added)


@backup.command("list")
@prints(f"{_MODEL}:BackupList")
def list_backups(show: Output) -> None:
    """List all backups: share, target, and how the last run, check and drill ended."""
    from millrace.protect.backup import backup_store, backup_text, backup_upkeep
    from millrace.protect.backup.backup_model import BackupList
    from millrace.protect.backup.backup_run import now
    from millrace.system.users import only_root

    only_root()
    at = now()
    show(BackupList(backups=[backup_upkeep.row(each, at) for each in backup_store.load()]), backup_text.listed)


@backup.command("show")
@click.argument("name")
@prints(f"{_MODEL}:BackupRow")
def show_backup(name: str, show: Output) -> None:
    """Show a backup: what is due, what the last run moved, and why a task failed."""
    from millrace.protect.backup import backup_store, backup_text, backup_upkeep
    from millrace.protect.backup.backup_add import public_key
    from millrace.protect.backup.backup_run import now
    from millrace.system.run import attempt
    from millrace.system.users import only_root

    only_root()
    known = backup_store.known(name)
    show(backup_upkeep.row(known, now()), lambda row: backup_text.detailed(row, public_key(known, attempt)))


@backup.command()
@click.argument("name")
@prints(f"{_MODEL}:BackupLine", lines=True, words=_PROGRESS)
def run(name: str, show: Output) -> None:
    """Send the newest snapshot of the share, or one that is made for it.

    Closing this terminal does not stop it: `millrace job show backup`, `millrace job cancel backup`.
    """
    _carry_out(name, "run", show)


@backup.command()
@click.argument("name")
@prints(f"{_MODEL}:BackupLine", lines=True, words=_PROGRESS)
def check(name: str, show: Output) -> None:
    """Check the repository: its structure, and 10 GiB of its data at random.

    Then versions that the retention does not keep are removed, unless the target is append-only.
    """
    _carry_out(name, "check", show)


@backup.command()
@click.argument("name")
@prints(f"{_MODEL}:BackupLine", lines=True, words=_PROGRESS)
def drill(name: str, show: Output) -> None:
    """Restore a random sample into a private directory, and compare it with the snapshot byte for byte."""
    _carry_out(name, "drill", show)


@backup.command()
@click.argument("name")
@click.option(
    "--version",
    metavar="ID",
    help="A version of `millrace backup versions` (default: the newest one; after an attachment the newest of before).",
)
@prints(f"{_MODEL}:BackupLine", lines=True, words=_PROGRESS)
def restore(name: str, version: str | None, show: Output) -> None:
    """Bring a version back as a snapshot of its share; no file of the share is changed.

    From there: `millrace snapshot browse`, `get`, `compare` and `rollback`.
    """
    _carry_out(name, "restore", show, version)


@backup.command()
@click.argument("name")
@prints(f"{_MODEL}:BackupVersions")
def versions(name: str, show: Output) -> None:
    """List the versions in the repository of a backup."""
    from millrace.protect.backup import backup_restore, backup_store, backup_text
    from millrace.protect.backup.backup_model import BackupVersions
    from millrace.protect.backup.backup_place import BackupPlace, BackupTools
    from millrace.serve.share.server import this_server
    from millrace.system.users import only_root

    only_root()
    known = backup_store.known(name)
    place = BackupPlace(known, this_server().pool.filesystem.mountpoint, BackupTools())
    place.make_directories()
    place.require_reachable()
    show(BackupVersions(name=name, versions=backup_restore.listed(place)), backup_text.versions)


@backup.command()
@click.argument("name")
@prints(f"{_MODEL}:BackupPaused")
def pause(name: str, show: Output) -> None:
    """Start no task of a backup by itself until it is resumed; health warns meanwhile."""
    _pause(name, True, show)


@backup.command()
@click.argument("name")
@prints(f"{_MODEL}:BackupPaused")
def resume(name: str, show: Output) -> None:
    """Start what is due of a paused backup again."""
    _pause(name, False, show)


@backup.command()
@click.argument("name")
@click.option("--reason", metavar="TEXT", required=True, help="Why it is shown; `millrace access log` has it.")
@prints(f"{_MODEL}:BackupPassword")
def password(name: str, reason: str, show: Output) -> None:
    """Show the password of the repository again; the log of changes has who saw it, and why."""
    from millrace.protect.backup import backup_store
    from millrace.protect.backup.backup_model import BackupPassword
    from millrace.system.errors import BadInput
    from millrace.system.users import only_root

    only_root()
    known = backup_store.known(name)
    if not reason.strip():
        raise BadInput("name a reason: the log of changes has it")
    text = backup_store.secret(known.name, backup_store.PASSWORD)
    show(BackupPassword(name=name, password=text), lambda shown: [shown.password])


@backup.command()
@click.argument("name")
@click.option("--name-again", metavar="NAME", help="Name of the backup, to confirm; without it, it is prompted for.")
@prints(f"{_MODEL}:BackupPaused")
def remove(name: str, name_again: str | None, show: Output) -> None:
    """Remove a backup with its secrets from this server; its repository stays at the target."""
    from millrace.protect.backup import backup_remove
    from millrace.serve.share.server import this_server
    from millrace.system.prompt import repeated

    again = name_again if name_again is not None else repeated("Name of the backup to remove", "--name-again NAME")
    show(
        backup_remove.remove(name, again, this_server),
        lambda gone: [f"backup {gone.name} is removed; the repository stays, and its password opens it"],
    )


@backup.command(hidden=True)
def upkeep() -> None:
    """Start what is due (started by millrace-cleanup@schedule.service and millrace-cleanup@backup.service)."""
    from millrace.protect.backup.backup_run import now
    from millrace.protect.backup.backup_upkeep import upkeep as start_due
    from millrace.system.run import attempt

    for line in start_due(attempt, now()):
        click.echo(line)


@click.command("backup-execute", hidden=True)
def backup_execute() -> None:
    """Carry out the task that the order names (started by millrace-reflink@backup.service)."""
    from millrace.protect.backup.backup_place import BackupTools
    from millrace.protect.backup.backup_run import execute
    from millrace.serve.share.server import this_server

    # the unit of restic ends with this one
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    for line in execute(this_server(), BackupTools()):
        click.echo(line)


@click.command("backup-end", hidden=True)
def backup_end() -> None:
    """Record a task that was cancelled or killed (millrace-reflink@backup.service at its end)."""
    from millrace.protect.backup.backup_job import clean_up

    clean_up()


def _carry_out(name: str, task: "BackupTask", show: Output, version: str | None = None) -> None:
    from millrace.protect.backup import backup_job, backup_text
    from millrace.protect.backup.backup_model import BackupEnd
    from millrace.system.errors import Failed
    from millrace.system.run import attempt

    order = backup_job.start(name, task, attempt, version=version)
    ended = show.each(backup_job.follow(order, attempt), backup_text.bar)
    if not isinstance(ended, BackupEnd):
        raise Failed(f"{backup_job.WORDS[task]} {name} did not end well: millrace job show backup")
    show.text(ended.words)


def _pause(name: str, paused: bool, show: Output) -> None:
    from millrace.protect.backup import backup_store
    from millrace.protect.backup.backup_model import BackupPaused
    from millrace.system.users import only_root

    only_root()
    changed = backup_store.change(name, lambda known: known.model_copy(update={"paused": paused}))
    words = "is paused: millrace backup resume" if paused else "is not paused; what is due begins within 15 minutes"
    show(BackupPaused(name=changed.name, paused=paused), lambda _: [f"backup {name} {words}"])


def _wish(given: dict[str, Any]) -> "BackupWish":
    from millrace.protect.backup.backup_add import LARGEST_AUTHORITY, BackupWish

    ca, limit = given.pop("ca"), given.pop("limit")
    authority = None
    if ca is not None:
        with Path(ca).open(errors="replace") as file:
            authority = file.read(LARGEST_AUTHORITY + 1)
    named = {key: given.pop(key) for key in ("name", "share", "target", "user")}
    retention = {key: given.pop(key) for key in ("daily", "weekly", "monthly")}
    settings = {**given, "limit": None if limit is None else limit * 1_000_000}
    return BackupWish(**named, settings=settings, retention=retention, authority=authority)


def _pinned(fingerprint: str, wanted: str | None) -> None:
    from millrace.system.errors import Refused
    from millrace.system.prompt import confirm

    if wanted is None:
        confirm(f"The host key of the SFTP server is {fingerprint}. Is it the right one?", "--host-key SHA256:…")
    elif wanted != fingerprint:
        raise Refused(f"the host key of the SFTP server is {fingerprint}, and not the one that was given")
