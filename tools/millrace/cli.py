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
from millrace.errors import BadInput, Failed, MillraceError
from millrace.system.text import one_line

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
    "approve": ("millrace.provision.verbs", "Approve a plan by its sha256."),
    "provision": ("millrace.provision.verbs", "Build the pool of the approved plan."),
    "assemble": ("millrace.provision.verbs", "Assemble the arrays of the pool."),
    "pool": ("millrace.pool.verbs", "Show, verify and check the pool; choose the priority of a rebuild."),
    "drive": ("millrace.drive.verbs", "List drives with verdict, wear and temperature; replace, locate or erase one."),
    "tune": ("millrace.tune.verbs", "Apply runtime tuning (md, block, IRQ, NIC, nfsd, smbd)."),
    "share": ("millrace.share.verbs", "Manage shares over NFS and SMB."),
    "backend": ("millrace.backend.verbs", "Connect the pool's external device over NVMe/TCP or NVMe/RDMA."),
    "volume": ("millrace.volume.verbs", "Manage volumes for hosts that connect over NVMe/TCP or NVMe/RDMA."),
    "client": ("millrace.client.verbs", "Print mount recipes for clients."),
    "port": ("millrace.port.verbs", "Manage network ports and their addresses."),
    "session": ("millrace.share.session_verbs", "List connected clients."),
    "user": ("millrace.user.verbs", "Manage users of NFS and SMB."),
    "group": ("millrace.user.verbs", "Manage groups of users."),
    "certificate": ("millrace.certificate.verbs", "Manage the certificate of the web console and of NFS over TLS."),
    "domain": ("millrace.domain.verbs", "Join, leave or show an Active Directory domain."),
    "encryption": (
        "millrace.encryption.verbs",
        "Show what opens the encrypted root file system; make its recovery key.",
    ),
    "config": ("millrace.config.verbs", "Show, export, import or roll back the desired state."),
    "keep": ("millrace.keep.verbs", "Keep the state of this server on its pool, for a new boot drive."),
    "reset": ("millrace.reset.verbs", "Reset the boot drive to factory state; data on the pool stays."),
    "update": ("millrace.update.verbs", "Install another version beside this one, try it, go back."),
    "install": ("millrace.install.verbs", "Write the running version to another boot drive."),
    "journal": ("millrace.journal.verbs", "Forward the journal to another host."),
    "bench": ("millrace.bench.verbs", "Benchmark drives, arrays, NFS/SMB and clients against hardware limits."),
    "tuner": ("millrace.tuner.verbs", "Measure which runtime settings suit this server, and apply the best."),
    "status": ("millrace.health.verbs", "Show health, pool, shares and next steps on one screen."),
    "topology": ("millrace.topology.verbs", "Show NUMA nodes with drives, network ports and NFS threads."),
    "watch": ("millrace.watch.verbs", "Print throughput, clients and running jobs every second."),
    "health": ("millrace.health.verbs", "Run all health checks and print remedies."),
    "alert": ("millrace.alert.verbs", "Report problems by mail, webhook or syslog; list and acknowledge them."),
    "metrics": ("millrace.metrics.verbs", "Print metrics as OpenMetrics text; serve them to a monitoring system."),
    "support": ("millrace.support.verbs", "Write an archive for support, without secrets and names."),
    "admin": ("millrace.admin.verbs", "Manage the administrator of this server."),
    "answer": ("millrace.answer.verbs", "Serve requests as JSON lines on stdin (internal)."),
    "schema": ("millrace.schema.verbs", "Print the JSON schemas of all --json output."),
}

# Modules that add to what a verb exports and imports: they are above its room, and it does not know them.
CARRIED = {"config": ("millrace.alert.carried",)}


class LazyGroup(click.Group):
    """A group that imports a verb when it is called, and none for `--help`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the verbs in the order of their use."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the verb; None where there is no such verb."""
        if cmd_name not in VERBS:
            return None
        for contributes in CARRIED.get(cmd_name, ()):
            import_module(contributes)
        command = getattr(import_module(VERBS[cmd_name][0]), cmd_name)
        assert isinstance(command, click.Command)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list["CompletionItem"]:
        """Return the verbs that begin so, without importing them, and the options."""
        from click.shell_completion import CompletionItem

        found = [CompletionItem(verb, help=what) for verb, (_, what) in VERBS.items() if verb.startswith(incomplete)]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of verbs for `--help`."""
        with formatter.section("Verbs"):
            formatter.write_dl([(verb, what) for verb, (_, what) in VERBS.items()])


@click.group(name="millrace", cls=LazyGroup, no_args_is_help=False)
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
        status = millrace.main(args=arguments, prog_name="millrace", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        # What was asked for, in a way: click's own main prints it so, too.
        click.echo(error.format_message())
        return error.exit_code
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else "millrace"
        return _complain(f"{error.format_message()} See '{where} --help'.", error.exit_code)
    except click.ClickException as error:
        return _complain(error.format_message(), error.exit_code)
    except click.Abort:
        return _complain("interrupted", 130)
    except MillraceError as error:
        return _complain(str(error), error.exit_code)
    except OSError as error:
        # What no verb foresaw: a disk that is full or gone, a directory in the place of a file.
        where = f"{error.filename}: " if error.filename else ""
        return _complain(f"{where}{error.strerror or error}", Failed.exit_code)
    return status if isinstance(status, int) else 0


def _is_text(argument: str) -> bool:
    """Whether an argument can be shown and can be part of a path: no byte outside of UTF-8, no null byte."""
    return "\0" not in argument and not any("\ud800" <= one <= "\udfff" for one in argument)


def _complain(sentence: str, exit_code: int) -> int:
    click.echo(f"millrace: {one_line(sentence)}", err=True)
    return exit_code
