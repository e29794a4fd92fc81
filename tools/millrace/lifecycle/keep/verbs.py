# SPDX-License-Identifier: Apache-2.0
"""`millrace keep …`."""

from typing import TYPE_CHECKING

import click

from millrace.lifecycle.keep import keeping, text
from millrace.system import paths
from millrace.system.errors import Failed, Refused
from millrace.system.output import Output, prints
from millrace.system.prompt import confirm, secret
from millrace.system.run import attempt, quickly, within
from millrace.system.users import as_root, only_root
from millrace.system.verb_group import VerbGroup

if TYPE_CHECKING:
    from millrace.lifecycle.keep.model import KeepStatus

_status = prints("millrace.lifecycle.keep.model:KeepStatus")


@click.group(cls=VerbGroup)
def keep() -> None:
    """Keep the state of this server on its pool, for a new boot drive."""


@keep.command()
@_status
def status(show: Output) -> None:
    """Show the newest generation of the kept state, when it was verified, and what is wrong."""
    _show(keeping.status(), show)


@keep.command("list")
@prints("millrace.lifecycle.keep.model:KeepList")
def list_(show: Output) -> None:
    """Read all generations on the pool and list them, the newest first."""
    from millrace.lifecycle.keep import generation_store
    from millrace.storage.record.pool_file import load_pool

    only_root()
    with as_root():
        where = generation_store.directory(keeping.mounted_pool(load_pool()))
        show(text.listed(where), text.lines)


@keep.command()
@_status
def now(show: Output) -> None:
    """Keep the state now: write a generation if anything changed, verify the newest otherwise."""
    only_root()
    _now(show)


@keep.command()
@click.option("--stdin", "from_stdin", is_flag=True, help="Read the passphrase from standard input, one line.")
@click.option("--remove", is_flag=True, help="Keep secrets without encryption from now on.")
@_status
def passphrase(from_stdin: bool, remove: bool, show: Output) -> None:
    """Encrypt the secrets in the kept state with a passphrase of 12 characters or more.

    A new boot drive cannot read them without it. Earlier generations are removed.
    """
    from millrace.lifecycle.keep import seal
    from millrace.storage.record.pool_file import load_pool

    only_root()
    if remove and from_stdin:
        raise click.UsageError("--remove and --stdin cannot be combined")
    load_pool()
    if remove:
        seal.forget()
    else:
        seal.choose(secret("Passphrase", from_stdin, "--stdin", confirm=True))
    _now(show)


@keep.command("use-local")
@click.option("--yes", is_flag=True, help="Do not ask.")
@_status
def use_local(yes: bool, show: Output) -> None:
    """Serve with the state of this boot drive although another one has used the pool since.

    The state on the pool stays as an earlier generation. `millrace pool adopt` takes it over instead.
    """
    from millrace.lifecycle.keep import home
    from millrace.storage.record.pool_file import load_pool
    from millrace.system.run import must

    only_root()
    with as_root():
        pool = load_pool()
        kept = home.found(keeping.mounted_pool(pool), pool.filesystem_uuid)
        if kept is None:
            raise Refused("the newest state on the pool is that of this boot drive; there is nothing to decide")
        if not yes:
            click.echo("\n".join(home.lines(kept)), err=True)
            confirm("Serve with the shares, users and keys of this boot drive instead?", "--yes")
        with keeping.lock():
            home.settle(kept.generation)
        paths.kept_elsewhere_file().unlink(missing_ok=True)
        must(attempt, ["systemctl", "restart", "millrace-pool.service"])
        outcome = keeping.keep(quickly)
        must(attempt, ["systemctl", "start", "--no-block", "millrace-serving.target"])
    _show(outcome, show)


@keep.command(hidden=True)
@_status
def run(show: Output) -> None:
    """Keep the state if anything changed (started by millrace-keep.service); health reports what is wrong."""
    with as_root():
        keeping.wait_for_more()
        _show(keeping.keep(quickly), show)


@keep.command(hidden=True)
@click.option("--release", is_flag=True, hidden=True, help="Only unmount it where an error made it read-only.")
@prints("millrace.lifecycle.keep.model:RecordsRoom")
def room(release: bool, show: Output) -> None:
    """Make or check the file system of NFS clients' records on the pool (started before it is mounted)."""
    from millrace.lifecycle.keep import nfs_client_room
    from millrace.storage.record.pool_file import load_pool

    with as_root():
        mountpoint = keeping.mounted_pool(load_pool())
        if release:
            nfs_client_room.release(mountpoint, quickly)
            return
        image = nfs_client_room.make(mountpoint, within(nfs_client_room.PATIENCE))
    show(image, nfs_client_room.lines)


@keep.command(hidden=True)
@prints("millrace.lifecycle.keep.model:LockRecords")
def records(show: Output) -> None:
    """Prepare the directory of NFS clients' records on the pool (started before nfsdcld)."""
    from millrace.lifecycle.keep import nfs_client_records, nfs_client_room
    from millrace.storage.record.pool_file import load_pool

    with as_root():
        mountpoint = keeping.mounted_pool(load_pool())
        image = nfs_client_room.settle(mountpoint, within(nfs_client_room.PATIENCE))
        ready = nfs_client_records.prepare(mountpoint)
    show(ready.model_copy(update={"set_aside": ready.set_aside or image}), nfs_client_records.lines)


def _now(show: Output) -> None:
    with as_root():
        found = keeping.keep(quickly)
    if found.problem:
        raise Failed(f"the state of this server is not kept on the pool: {found.problem}")
    _show(found, show)


def _show(found: "KeepStatus", show: Output) -> None:
    show(found, text.status_lines, text.warnings(found))
