# SPDX-License-Identifier: Apache-2.0
"""`millrace pool find`, `pool found` and `pool adopt`."""

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from millrace.system import paths
from millrace.system.errors import BadInput, Failed, Refused
from millrace.system.output import Output, prints
from millrace.system.printing import safe
from millrace.system.prompt import confirm, secret
from millrace.system.run import attempt
from millrace.system.text import shown
from millrace.system.users import as_root, invoking_user, only_root

if TYPE_CHECKING:
    from millrace.lifecycle.adopt.model import Adoption, SearchResult
    from millrace.lifecycle.keep.model import TrustKind
    from millrace.storage.array.machine import System

CREDENTIAL = "millrace.adopt"
WANTED = re.compile(r"auto|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@click.command()
@prints("millrace.lifecycle.adopt.model:SearchResult")
def find(show: Output) -> None:
    """Find a pool on the drives of a server that has none, and show what its kept state has. No drive is written.

    Status, banner and web console show the result from then on.
    """
    from millrace.lifecycle.adopt import text
    from millrace.storage.array.machine import Linux
    from millrace.system import locks

    only_root()
    with as_root(), locks.held(paths.provision_lock_file()):
        report = _found(Linux())
    show(report, text.lines)


@click.command()
@prints("millrace.lifecycle.adopt.model:FoundHere")
def found(show: Output) -> None:
    """Show what the boot or the last `pool find` found, and how far an adoption is. No drive is read; needs no root."""
    from millrace.lifecycle.adopt import adopt_job, text
    from millrace.system.run import quickly

    show(adopt_job.state(quickly), text.here)


@click.command()
@click.argument("wanted", metavar="[POOL]", default="auto")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--passphrase-stdin", is_flag=True, help="Read the passphrase of the state from standard input.")
@click.option("--without-secrets", is_flag=True, help="Adopt without passwords, keys and SIDs.")
@click.option(
    "--without",
    multiple=True,
    metavar="KIND",
    help="Power over this server to leave out: people, password, ssh-keys, ssh, update-keys, updates, alerts, backups, "
    "journal, client-networks, readers, replicas or network; repeatable.",
)
@click.option("--detach", is_flag=True, help="Return when it has begun; `millrace pool found` shows how it goes on.")
@prints("millrace.lifecycle.adopt.model:Adopted", {"--detach": "millrace.lifecycle.adopt.model:FoundHere"})
def adopt(
    wanted: str,
    yes: bool,
    passphrase_stdin: bool,
    without_secrets: bool,
    without: tuple[str, ...],
    detach: bool,
    show: Output,
) -> None:
    """Bring the pool on the drives back on this server, with its users, shares, keys and addresses.

    On a server whose pool was used by another boot drive meanwhile: take over the newest state on it.

    POOL is the UUID of its file system, as `millrace pool find` shows it; without one there must be one pool.
    """
    from millrace.lifecycle.adopt import adopt as adopting
    from millrace.lifecycle.adopt import adopt_job, adoption_journal, text
    from millrace.storage.array.machine import Linux
    from millrace.system import locks
    from millrace.system.jobs import pairs

    only_root()
    if passphrase_stdin and without_secrets:
        raise click.UsageError("--passphrase-stdin and --without-secrets cannot be combined")
    _valid(wanted)
    left_out = kinds(without)
    system = Linux()
    with as_root():
        with locks.held(paths.provision_lock_file()):
            adoption = adoption_journal.under_way()
            if adoption is None:
                # what is begun goes on in every boot until it is done
                pairs.demand("adopt", attempt)
            if adoption is None and paths.pool_file().exists():
                if left_out:
                    raise Refused("the state would be mixed with that of this boot drive: adopt it without --without")
                adoption = _again(wanted, yes, passphrase_stdin, without_secrets)
            elif adoption is None:
                report = _found(system)
                if report.pool is None or report.problem:
                    raise Refused(f"{report.problem}; {report.todo}")
                if not yes:
                    click.echo(safe("\n".join(text.lines(report))), err=True)
                    confirm(text.question(report.pool), "--yes")
                sealed = report.pool.kept is not None and report.pool.kept.sealed and not without_secrets
                passphrase = secret("Passphrase", passphrase_stdin, "--passphrase-stdin") if sealed else None
                secrets = not without_secrets
                adoption = adopting.begin(system, attempt, wanted, invoking_user(), passphrase, secrets, left_out)
        # The unit takes the lock itself. What it does is seen by all, and goes on where this terminal is closed.
        adopt_job.start(adoption, attempt)
        if not detach:
            for now in adopt_job.follow(attempt):
                click.echo(text.step(now), err=True)
            done = adopt_job.adopted()
            adopting.serve(attempt)
    if detach:
        show(adopt_job.state(attempt), text.here)
    else:
        show(done, text.adopted)


@click.command(hidden=True)
@prints("millrace.lifecycle.adopt.model:Adopted")
def adopting(show: Output) -> None:
    """Go on with an interrupted adoption, or adopt as the credential says (started by millrace-adopt.service)."""
    from millrace.lifecycle.adopt import adopt as adopting_
    from millrace.lifecycle.adopt import adoption_journal, text
    from millrace.lifecycle.adopt.adopt_job import JOB
    from millrace.storage.array.machine import Linux
    from millrace.system import locks

    system = Linux()
    with as_root(), locks.held(paths.provision_lock_file()):
        adoption = adoption_journal.under_way()
        if adoption is None and paths.pool_file().exists():
            adoption_journal.end()
            click.echo("this server has its pool; no adoption is under way", err=True)
            return
        if adoption is None:
            wanted = _credential()
            if wanted is None:
                click.echo("no adoption is under way, and no credential asks for one", err=True)
                return
            _valid(wanted)
            adoption = adopting_.begin(system, attempt, wanted, adopting_.CREDENTIAL, None)
        with JOB.execution(f"pool {adoption.pool}"):
            done = adopting_.finish(adoption, attempt)
        if adoption.again:
            adopting_.serve_again(attempt)
    show(done, text.adopted)


def kinds(without: tuple[str, ...]) -> list["TrustKind"]:
    """Return what is left out of an adoption. BadInput: a word is none of the kinds."""
    from millrace.lifecycle.keep.trust import KINDS

    for kind in without:
        if kind not in KINDS:
            raise BadInput(f"{shown(kind)} is nothing that can be left out: use one of {', '.join(KINDS)}")
    return [kind for kind in KINDS if kind in without]


def _again(wanted: str, yes: bool, passphrase_stdin: bool, without_secrets: bool) -> "Adoption":
    """Begin to take over the state of the pool that came home."""
    from datetime import UTC, datetime

    from millrace.lifecycle.adopt import homecoming, text
    from millrace.lifecycle.keep import home

    try:
        kept = homecoming.pending()
    except Failed:
        # not mounted: there is nothing to read
        kept = None
    if kept is None:
        raise Refused("this server has a pool already; see it with `millrace pool show`")
    if wanted not in ("auto", kept.pool):
        raise Refused(f"the pool of this server is {kept.pool}, not {wanted}; nothing was written")
    if without_secrets:
        raise Refused(
            "the state would be mixed with the secrets of this boot drive: adopt it without --without-secrets"
        )
    if not yes:
        power = (line for each in homecoming.trusted() for line in text.trusted(each, whole=True))
        click.echo(safe("\n".join([*home.lines(kept), *power])), err=True)
        confirm("Replace the shares, users, keys and addresses of this boot drive with these?", "--yes")
    passphrase = secret("Passphrase", passphrase_stdin, "--passphrase-stdin") if kept.sealed else None
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return homecoming.begin(attempt, invoking_user(), now, passphrase)


def _found(system: "System") -> "SearchResult":
    """Look for the pool, and record what is found."""
    from millrace.lifecycle.adopt import search
    from millrace.lifecycle.adopt.search_result import record

    one = search.find(system, attempt)
    record(one)
    return one


def _valid(wanted: str) -> None:
    if not WANTED.fullmatch(wanted):
        raise BadInput("a pool is named by the UUID of its file system; `millrace pool find` shows it")


def _credential() -> str | None:
    directory = os.environ.get("CREDENTIALS_DIRECTORY")
    path = Path(directory) / CREDENTIAL if directory else None
    return path.read_text().strip() if path is not None and path.is_file() else None
