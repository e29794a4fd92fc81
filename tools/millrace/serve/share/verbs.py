# SPDX-License-Identifier: Apache-2.0
"""`millrace share …`."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, get_args

import click

from millrace.serve.config.choices import Encryption, ShareType, Writing
from millrace.serve.config.completion import GROUPS, SHARES, USERS
from millrace.storage.record.pool_file import known_pool
from millrace.system.output import Output, prints
from millrace.system.verb_group import VerbGroup

if TYPE_CHECKING:
    from millrace.serve.share.model import ChangeReport, RenderReport, SidReport, VerifyReport

_change = prints("millrace.serve.share.model:ChangeReport")
_change_or_preview = prints(
    "millrace.serve.share.model:ChangeReport", {"--dry-run": "millrace.serve.share.model:Preview"}
)
_dry_run = click.option("--dry-run", is_flag=True, help="Show the result; change nothing.")
_type = click.option(
    "--type",
    type=click.Choice(get_args(ShareType)),
    help="Share type; mixed serves one tree over NFS and SMB.",
)


def _settings(function: Any) -> Any:
    """The options that create and set share."""
    options = (
        click.option("--comment", help="Comment, one line, shown to SMB clients."),
        click.option(
            "--size", metavar="SIZE", help="Size limit, for example 500G or 10T (powers of 1024); `none` removes it."
        ),
        click.option(
            "--soft-size", metavar="SIZE", help="Soft limit: writes fail after 7 days above it; `none` removes it."
        ),
        click.option(
            "--child-size",
            metavar="SIZE",
            help="Quota of each directory at the top of the share, also of new ones; `none` removes it.",
        ),
        click.option(
            "--writing",
            type=click.Choice(get_args(Writing)),
            help="Users who may write: all users of the share or, with --group, its members (together, the "
            "default); each user their own files (own); the members of --group, while all others read (some).",
        ),
        click.option(
            "--group", metavar="GROUP", shell_complete=GROUPS, help="Group of the users who write; `none` removes it."
        ),
        click.option("--nfs/--no-nfs", "nfs", default=None, help="Serve the share over NFS."),
        click.option(
            "--nfs-client",
            "nfs_clients",
            multiple=True,
            metavar="CLIENT",
            help="Network, address, host or @netgroup, then options: '10.0.0.0/24 access=ro squash=all anonuid=2000 "
            "sec=krb5:krb5p xprtsec=tls'; repeatable; 'default' is the client networks (share networks list).",
        ),
        click.option(
            "--nfs-snapshots/--no-nfs-snapshots",
            default=None,
            help="Let the NFS clients of the share read its snapshots: an export of their directory, read-only.",
        ),
        click.option("--smb/--no-smb", "smb", default=None, help="Serve the share over SMB."),
        click.option(
            "--smb-user",
            "smb_users",
            multiple=True,
            metavar="USER",
            shell_complete=USERS,
            help="User allowed over SMB; repeatable [default: admin].",
        ),
        click.option(
            "--smb-group",
            "smb_groups",
            multiple=True,
            metavar="GROUP",
            shell_complete=GROUPS,
            help="Group whose members are allowed over SMB; repeatable.",
        ),
        click.option(
            "--smb-network",
            "smb_networks",
            multiple=True,
            help="Network allowed over SMB; repeatable; 'default' adds private networks.",
        ),
        click.option("--encryption", type=click.Choice(get_args(Encryption)), help="SMB encryption."),
        click.option("--io-uring/--no-io-uring", default=None, help="Use io_uring (SMB-only shares)."),
        click.option(
            "--smb-direct/--no-smb-direct",
            "direct",
            default=None,
            help="Serve it over RDMA by the kernel instead of Samba, unsigned and unencrypted (policy: smb_direct).",
        ),
        click.option(
            "--audit/--no-audit",
            default=None,
            help="Record who opens and changes files over SMB: `millrace share log`.",
        ),
        click.option(
            "--previous-versions/--no-previous-versions",
            default=None,
            help="Show the snapshots of the share to SMB clients: Previous Versions of Windows.",
        ),
        click.option("--time-machine/--no-time-machine", default=None, help="Time Machine backups of macOS; SMB only."),
    )
    for option in reversed(options):
        function = option(function)
    return function


@click.group(cls=VerbGroup)
def share() -> None:
    """Manage shares over NFS and SMB."""


@share.command("list")
@prints("millrace.serve.share.model:ShareList")
def list_(show: Output) -> None:
    """List shares with allowed clients and usage."""
    from millrace.serve.share.kept_results import kept
    from millrace.serve.share.model import ShareList
    from millrace.serve.share.share_list import listed, rows

    pool = known_pool()
    if pool is None:
        show.text(["No shares yet: no pool. `millrace status` shows the next step."])
    shares = listed(pool) if pool else []
    verifications = kept([share.name for share in shares])
    show(ShareList(shares=shares, verifications=verifications), lambda listing: rows(listing.shares))


@share.command("show")
@click.argument("name", shell_complete=SHARES)
@prints("millrace.serve.share.model:ShareDetails")
def show_(name: str, show: Output) -> None:
    """Show one share: who may write, its directory, its SMB clients and open files, and its last verification."""
    from millrace.serve.share.details import details, lines

    show(details(name, known_pool()), lines)


@share.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME…")
@_type
@_settings
@_dry_run
@_change_or_preview
def create(names: tuple[str, ...], dry_run: bool, show: Output, **settings: Any) -> None:
    """Create shares, all or none; an existing directory of that name is used with its contents."""
    from millrace.serve.share.edit import create_shares, creation

    if dry_run:
        _preview(names, creation(names, settings), show)
    else:
        _report(create_shares(names, settings), show)


@share.command("set")
@click.argument("name", shell_complete=SHARES)
@_type
@_settings
@_dry_run
@_change_or_preview
def set_(name: str, dry_run: bool, show: Output, **settings: Any) -> None:
    """Change the named options of a share; keep all others."""
    from millrace.serve.share.edit import set_share, setting

    if dry_run:
        _preview([name], setting(name, settings), show)
    else:
        _report(set_share(name, settings), show)


@share.command()
@click.argument("name", shell_complete=SHARES)
@click.option("--delete-data", metavar="NAME", help="Also delete the data; repeat NAME to confirm.")
@_change
def remove(name: str, delete_data: str | None, show: Output) -> None:
    """Remove a share; its data stays."""
    from millrace.serve.share.edit import remove_share

    _report(remove_share(name, delete_data), show)


@share.command()
@click.argument("names", nargs=-1, metavar="[NAME]…", shell_complete=SHARES)
@prints("millrace.serve.share.model:VerifyReport")
def verify(names: tuple[str, ...], show: Output) -> None:
    """Verify shares: open them over NFS and SMB, from this server."""
    from millrace.serve.share.verify import verify as verify_shares

    show(verify_shares(names), _verified)


@share.command("repair-sid")
@prints("millrace.serve.share.model:SidReport")
def repair_sid(show: Output) -> None:
    """Set back the SID of this server, and repair ACLs that name users by a former SID.

    Sessions of SMB clients end if the SID was another one.
    """
    from millrace.serve.share.repair_sid import repair

    show(repair(), _repaired)


@share.command()
@click.option(
    "--force", is_flag=True, help="Replace files that were edited by hand; the edited files are kept as copies."
)
@prints("millrace.serve.share.model:RenderReport")
def render(force: bool, show: Output) -> None:
    """Write the configuration of the NFS and SMB servers; change only what differs."""
    from millrace.serve.config.store import config_lock, load
    from millrace.serve.share.cleanup import clean_up
    from millrace.serve.share.server import this_server

    with config_lock():
        server = this_server()
        clean_up(server.run)
        report = server.apply(load(), force)
    show(report, lambda report: _rendered(report, force))


@share.group(cls=VerbGroup)
def networks() -> None:
    """Manage the client networks, which apply to NFS shares without named clients."""


@networks.command("list")
@prints("millrace.serve.share.model:ClientNetworks")
def list_networks(show: Output) -> None:
    """List confirmed client networks and the networks of this server's ports."""
    from millrace.serve.share.confirm import client_networks, lines
    from millrace.system import net

    show(client_networks(net.serving()), lines)


@networks.command("set")
@click.argument("named", nargs=-1, required=True, metavar="NETWORK…")
@_change
def set_networks(named: tuple[str, ...], show: Output) -> None:
    """Confirm client networks in CIDR form (10.1.0.0/24), replacing all others; 'none' closes NFS.

    Shares that name their own clients are not changed.
    """
    from millrace.serve.share.confirm import confirm

    _report(confirm(named), show)


def _preview(names: Sequence[str], mutate: Any, show: Output) -> None:
    from millrace.serve.share.edit import preview

    show(preview(names, mutate), lambda seen: [*seen.exports, *seen.smb])


def _report(report: "ChangeReport", show: Output) -> None:
    show(report, lambda done: done.verified, report.warnings)


def _verified(report: "VerifyReport") -> Iterator[str]:
    for one in report.shares:
        yield from (f"{one.name}: {line}" for line in one.seen)
        if one.problem:
            yield f"{one.name}: NOT SERVED: {one.problem}"
        yield from (f"{one.name}: warning: {line}" for line in one.files)


def _repaired(report: "SidReport") -> Iterator[str]:
    yield f"SID of this server: {report.sid}{', set back' if report.set_back else ''}"
    if report.restarted:
        yield "the SMB server restarts; sessions of clients end"
    yield from (
        f"files that named their owners by {sid}: {number}, repaired" for sid, number in report.replaced.items()
    )
    yield f"files that already name their owners by it: {report.right}"
    if report.held:
        yield f"files that clients hold were not examined ({report.held}): millrace share repair-sid"


def _rendered(report: "RenderReport", force: bool) -> Iterator[str]:
    yield from (f"changed {path}" for path in report.changed)
    yield from (f"reloaded {service}" for service in report.reloaded)
    done = "replaced, the edit is in /var/lib/millrace/replaced" if force else "kept; see millrace health"
    yield from (f"{path} had been edited by hand: {done}" for path in report.drift)
    yield from (f"warning: {warning}" for warning in report.warnings)
