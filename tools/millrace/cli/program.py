# SPDX-License-Identifier: Apache-2.0
"""The command line: finds the verb, prints errors as sentences, sets the exit code.

Nothing but click is imported before the verb is known: every import costs, and most under software emulation.
"""

import gc
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, NoReturn

import click

from millrace import __version__
from millrace.cli.roles import guard
from millrace.system.errors import BadInput, Failed, MillraceError
from millrace.system.text import one_line
from millrace.system.verb_group import VerbGroup

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# Imports make much that stays and no garbage: looking for some took 8 of 185 ms of a short command.
gc.set_threshold(50_000)
# pydantic would read the metadata of every installed package to find plugins, and run as root what it finds.
os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"

# verb: (module, what --help says about it); the module has a click command of the verb's name
VERBS = {
    "inventory": ("millrace.inventory.verbs", "List drives, network ports and CPUs of this server."),
    "plan": ("millrace.plan.verbs", "Show the plan of the pool and its reasons."),
    "policy": ("millrace.plan.policy.policy_verbs", "Show or change the policy: what overrides decisions of Millrace."),
    "approve": ("millrace.storage.provision.provision_verbs", "Approve a plan by its sha256."),
    "provision": ("millrace.storage.provision.provision_verbs", "Build the pool of the approved plan."),
    "assemble": ("millrace.storage.assemble.assemble_verbs", "Assemble the arrays of the pool."),
    "pool": ("millrace.observe.pool.verbs", "Show, verify and check the pool; choose the priority of a rebuild."),
    "drive": (
        "millrace.observe.drive.verbs",
        "List drives with verdict, wear and temperature; replace, locate or erase one.",
    ),
    "tune": ("millrace.tune.verbs", "Apply runtime tuning (md, block, IRQ, NIC, nfsd, smbd)."),
    "share": ("millrace.serve.share.verbs", "Manage shares over NFS and SMB."),
    "snapshot": (
        "millrace.protect.snapshot.snapshot_verbs",
        "Make snapshots of shares, and get files back from them.",
    ),
    "protection": (
        "millrace.protect.protection.protection_verbs",
        "Show which shares have copies, where, and whether these are in time.",
    ),
    "replica": (
        "millrace.protect.replica.replica_verbs",
        "Keep replicas of shares of other servers, and promote them.",
    ),
    "backup": (
        "millrace.protect.backup.backup_verbs",
        "Back shares up off site, check the repositories, and restore from them.",
    ),
    "backend": (
        "millrace.storage.fabrics.fabrics_verbs",
        "Connect the pool's external device over NVMe/TCP or NVMe/RDMA.",
    ),
    "volume": ("millrace.serve.volume.verbs", "Manage volumes for hosts that connect over NVMe/TCP or NVMe/RDMA."),
    "client": ("millrace.measure.client.verbs", "Print mount recipes for clients."),
    "network": ("millrace.serve.network.verbs", "Manage ports, bonds, VLANs, addresses, DNS, NTP and the host name."),
    "session": ("millrace.serve.share.session_verbs", "List connected clients."),
    "access": (
        "millrace.lifecycle.access.verbs",
        "Manage the accounts that manage this server: roles, keys, sessions.",
    ),
    "user": ("millrace.serve.account.verbs", "Manage users of NFS and SMB."),
    "group": ("millrace.serve.account.verbs", "Manage groups of users."),
    "certificate": (
        "millrace.serve.certificate.verbs",
        "Manage the certificate of the web console and of NFS over TLS.",
    ),
    "domain": ("millrace.serve.join.verbs", "Join, leave or show an Active Directory domain."),
    "encryption": (
        "millrace.lifecycle.encryption.verbs",
        "Show what opens the encrypted root file system; make its recovery key.",
    ),
    "apply": ("millrace.cli.apply.verbs", "Make this server what a file says; what the file does not name stays."),
    "config": ("millrace.serve.revision.verbs", "Show, export, import or roll back the desired state."),
    "keep": ("millrace.lifecycle.keep.verbs", "Keep the state of this server on its pool, for a new boot drive."),
    "reset": ("millrace.lifecycle.reset.verbs", "Reset the boot drive to factory state; data on the pool stays."),
    "update": ("millrace.lifecycle.update.verbs", "Install another version beside this one, try it, go back."),
    "install": ("millrace.lifecycle.install.verbs", "Write the running version to another boot drive."),
    "journal": ("millrace.serve.log_forward.verbs", "Forward the journal to another host."),
    "bench": ("millrace.measure.bench.verbs", "Benchmark drives, arrays, NFS/SMB and clients against hardware limits."),
    "tuner": ("millrace.measure.tuner.verbs", "Measure which runtime settings suit this server, and apply the best."),
    "status": ("millrace.observe.health.verbs", "Show health, pool, shares and next steps on one screen."),
    "job": ("millrace.observe.jobs.job_verbs", "List, follow and cancel long work, from builds to benchmarks."),
    "topology": ("millrace.observe.topology.verbs", "Show NUMA nodes with drives, network ports and NFS threads."),
    "watch": ("millrace.observe.live.verbs", "Print throughput, clients and running jobs every second."),
    "history": ("millrace.observe.history.verbs", "Show throughput, capacity and temperatures over time."),
    "health": ("millrace.observe.health.verbs", "Run all health checks and print remedies."),
    "alert": ("millrace.observe.alert.verbs", "Report problems by mail, webhook or syslog; list and acknowledge them."),
    "metrics": (
        "millrace.observe.metrics.verbs",
        "Print metrics in the text format of Prometheus; serve them to a monitoring system.",
    ),
    "support": ("millrace.observe.support.verbs", "Write an archive for support, without secrets and names."),
    "admin": ("millrace.lifecycle.access.admin_verbs", "Create the administrator of the first boot."),
    "answer": ("millrace.cli.worker.verbs", "Serve requests as JSON lines on stdin (internal)."),
    "schema": ("millrace.cli.schema.verbs", "Print the JSON schemas of all --json output."),
}

# The sections of --help. A verb in none of them is for units and pages, and its command is hidden.
SECTIONS = {
    "State": ("status", "health", "alert", "watch", "history", "job", "topology", "metrics", "support"),
    "Shares and users": (
        *("share", "snapshot", "protection", "replica", "backup", "session", "user", "group", "domain", "client"),
    ),
    "Pool and drives": ("inventory", "policy", "plan", "approve", "provision", "pool", "drive", "backend", "volume"),
    "Network": ("network", "certificate"),
    "System": ("apply", "config", "keep", "update", "install", "reset", "encryption", "access", "admin", "journal"),
    "Performance": ("bench", "tuner", "tune"),
    "Scripts": ("schema",),
}

# Verbs below a verb of the table whose work is in another room: "words": "module:command".
BELOW = {
    "config export": "millrace.cli.apply.verbs:export",
    "pool scrub": "millrace.storage.scrub.scrub_verbs:scrub",
    "pool trim": "millrace.storage.trim.trim_verbs:trim",
    "pool rescue": "millrace.storage.rescue.rescue_verbs:rescue",
    "pool rescuing": "millrace.storage.rescue.rescue_verbs:rescuing",
    "pool revive": "millrace.storage.rescue.revive_verbs:revive",
    "pool revive-cleanup": "millrace.storage.rescue.revive_verbs:revive_cleanup",
    "pool unclean": "millrace.storage.unclean.unclean_verbs:unclean_",
    "pool unclean-execute": "millrace.storage.unclean.unclean_verbs:unclean_execute",
    "pool unclean-cleanup": "millrace.storage.unclean.unclean_verbs:unclean_cleanup",
    "pool acknowledge": "millrace.storage.unclean.unclean_verbs:acknowledge",
    "pool priority": "millrace.tune.priority_verbs:priority",
    "pool destroy": "millrace.lifecycle.destroy.verbs:destroy",
    "pool grow": "millrace.storage.change.change_verbs:grow",
    "pool find": "millrace.lifecycle.adopt.verbs:find",
    "pool found": "millrace.lifecycle.adopt.verbs:found",
    "pool adopt": "millrace.lifecycle.adopt.verbs:adopt",
    "pool adopting": "millrace.lifecycle.adopt.verbs:adopting",
    "drive locate": "millrace.storage.drive.locate_verbs:locate",
    "drive replace": "millrace.storage.change.change_verbs:replace",
    "drive add": "millrace.storage.change.change_verbs:add",
    "drive remove": "millrace.storage.change.change_verbs:remove",
    "drive progress": "millrace.storage.change.change_verbs:progress",
    "drive resume": "millrace.storage.change.change_verbs:resume",
    "drive apply": "millrace.storage.change.change_verbs:apply",
    "drive inserted": "millrace.storage.change.change_verbs:inserted",
    "drive test": "millrace.storage.drive_test.testing_verbs:test_",
    "drive test-execute": "millrace.storage.drive_test.testing_verbs:test_execute",
    "drive test-cleanup": "millrace.storage.drive_test.testing_verbs:test_cleanup",
    "drive erase": "millrace.storage.erase.erase_verbs:erase",
    "drive erase-execute": "millrace.storage.erase.erase_verbs:erase_execute",
    "drive erase-cleanup": "millrace.storage.erase.erase_verbs:erase_cleanup",
    "share clone": "millrace.serve.clone.clone_verbs:clone",
    "share clone-status": "millrace.serve.clone.clone_verbs:clone_status",
    "share clone-cancel": "millrace.serve.clone.clone_verbs:clone_cancel",
    "share clone-execute": "millrace.serve.clone.clone_verbs:clone_execute",
    "share clone-end": "millrace.serve.clone.clone_verbs:clone_end",
    "share clone-sweep": "millrace.serve.clone.clone_verbs:clone_sweep",
    "share snapshot-execute": "millrace.protect.snapshot.snapshot_verbs:snapshot_execute",
    "snapshot schedule": "millrace.protect.snapshot.snapshot_schedule_verbs:schedule",
    "snapshot schedules": "millrace.protect.snapshot.snapshot_schedule_verbs:schedules",
    "snapshot remove": "millrace.protect.snapshot.snapshot_remove_verbs:remove",
    "snapshot keep": "millrace.protect.snapshot.snapshot_remove_verbs:keep",
    "snapshot lock": "millrace.protect.snapshot.snapshot_remove_verbs:lock",
    "snapshot upkeep": "millrace.protect.snapshot.snapshot_schedule_verbs:upkeep_",
    "replica certificate": "millrace.protect.replica.replica_pairing_verbs:certificate",
    "replica allow": "millrace.protect.replica.replica_pairing_verbs:allow",
    "replica deny": "millrace.protect.replica.replica_pairing_verbs:deny",
    "share replica-execute": "millrace.protect.replica.replica_verbs:replica_execute",
    "share replica-end": "millrace.protect.replica.replica_verbs:replica_end",
    "share snapshot-end": "millrace.protect.snapshot.snapshot_verbs:snapshot_end",
    "share backup-execute": "millrace.protect.backup.backup_verbs:backup_execute",
    "share backup-end": "millrace.protect.backup.backup_verbs:backup_end",
    "share permissions": "millrace.serve.permissions.permissions_verbs:permissions_",
    "share permissions-execute": "millrace.serve.permissions.permissions_verbs:permissions_execute",
    "share permissions-cleanup": "millrace.serve.permissions.permissions_verbs:permissions_cleanup",
    "share log": "millrace.serve.share.log_verbs:log_",
    "share disconnect": "millrace.serve.share.log_verbs:disconnect_",
    "share unseal": "millrace.serve.clone.clone_verbs:unseal",
    "share copy": "millrace.serve.clone.copy_verbs:copy",
    "share copy-execute": "millrace.serve.clone.copy_verbs:copy_execute",
    "share copy-cleanup": "millrace.serve.clone.copy_verbs:copy_cleanup",
    "share smb-direct-users": "millrace.serve.share.direct_verbs:users",
}

# Modules that add to what a verb exports and imports: they are above its room, and it does not know them.
CARRIED = {"config": ("millrace.observe.alert.carried",)}


def command(verb: str) -> click.Command:
    """Import a verb and the verbs below it."""
    for contributes in CARRIED.get(verb, ()):
        import_module(contributes)
    imported: click.Command = getattr(import_module(VERBS[verb][0]), verb)
    below = (where.partition(":") for words, where in BELOW.items() if words.startswith(f"{verb} "))
    for module, _, name in below:
        assert isinstance(imported, click.Group)
        imported.add_command(getattr(import_module(module), name))
    guard(imported)
    return imported


class LazyGroup(VerbGroup):
    """A group that imports a verb when it is called, and none for `--help`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the verbs in the order of the table."""
        return list(VERBS)

    def visible(self, ctx: click.Context) -> list[str]:
        """Return the verbs in the order of the sections."""
        return [verb for verbs in SECTIONS.values() for verb in verbs]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the verb; None where there is no such verb."""
        if cmd_name not in VERBS:
            return None
        return command(cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the verb and its arguments; `help VERB` is `VERB --help`. UsageError: there is no such verb."""
        if args[0] == "help":
            args = [*args[1:], "--help"]
            if len(args) == 1:
                click.echo(ctx.get_help())
                ctx.exit()
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list["CompletionItem"]:
        """Return the verbs that begin so, without importing them, and the options."""
        from click.shell_completion import CompletionItem

        verbs = [verb for verb in self.visible(ctx) if verb.startswith(incomplete)]
        found = [CompletionItem(verb, help=VERBS[verb][1]) for verb in verbs]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the verbs for `--help`, by sections."""
        from millrace.system.printing import padded

        longest = max(map(len, VERBS))
        for title, verbs in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(padded(verb, longest), VERBS[verb][1]) for verb in verbs])


@click.group(
    name="millrace", cls=LazyGroup, no_args_is_help=False, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, prog_name="millrace")
def millrace() -> None:
    """A file server that keeps GPUs fed."""


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit: 0 done, 1 refused or failed, 2 wrong usage or bad input."""
    sys.exit(run(argv))


def run(argv: Sequence[str] | None) -> int:
    """Run a verb, print an error as a sentence, return the exit code."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    if not all(map(_is_text, arguments)):
        return _complain("an argument is not text in UTF-8; correct it and try again", BadInput.exit_code)
    try:
        status = millrace.main(args=arguments, prog_name="millrace", standalone_mode=False, obj=arguments)
    except click.exceptions.NoArgsIsHelpError as error:
        # What was asked for, in a way: click's own main prints it so, too.
        click.echo(error.format_message())
        return error.exit_code
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else _verb_of(arguments)
        return _complain(f"{error.format_message()} See '{where} --help'.", error.exit_code)
    except click.ClickException as error:
        return _complain(error.format_message(), error.exit_code)
    except click.Abort:
        return _complain("interrupted", 130)
    except MillraceError as error:
        return _complain(str(error), error.exit_code)
    except OSError as error:
        # What no verb foresaw: a disk that is full or gone, a directory in the place of a file.
        from millrace.system.files import describe

        return _complain(describe(error), Failed.exit_code)
    return status if isinstance(status, int) else 0


def _verb_of(arguments: Sequence[str]) -> str:
    """The verb of a command line as its help is called by: click names none where an option lacks its value."""
    words = ["millrace"]
    place: click.Command = millrace
    for word in arguments:
        below = place.get_command(click.Context(place), word) if isinstance(place, click.Group) else None
        if below is None:
            break
        words.append(word)
        place = below
    return " ".join(words)


def _is_text(argument: str) -> bool:
    """Whether an argument can be shown and can be part of a path: no byte outside of UTF-8, no null byte."""
    return "\0" not in argument and not any("\ud800" <= one <= "\udfff" for one in argument)


def _complain(sentence: str, exit_code: int) -> int:
    click.echo(f"millrace: {one_line(sentence)}", err=True)
    return exit_code
