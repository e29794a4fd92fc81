# SPDX-License-Identifier: Apache-2.0
"""`millrace encryption …`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from millrace.system.output import Output, prints
from millrace.system.printing import Cell, fields
from millrace.system.run import attempt
from millrace.system.text import moment
from millrace.system.verb_group import VerbGroup

if TYPE_CHECKING:
    from millrace.lifecycle.encryption.model import Bound, Encryption, RecoveryKey

_stdin = click.option("--key-stdin", is_flag=True, help="Read the existing recovery key from standard input, one line.")
_bound = prints("millrace.lifecycle.encryption.model:Bound")


@click.group(cls=VerbGroup)
def encryption() -> None:
    """Manage the keys of the encrypted root file system."""


@encryption.command()
@prints("millrace.lifecycle.encryption.model:Encryption")
def show(show: Output) -> None:
    """Show whether the root file system is encrypted, and what opens it."""
    from millrace.lifecycle.encryption import root

    show(root.show(attempt), _rows)


@encryption.command("recovery-key")
@click.option("--new", is_flag=True, help="Replace the recovery key that exists, which is prompted for.")
@click.option("--at-restart", is_flag=True, help="Have the next start make another recovery key: the key is lost.")
@_stdin
@prints("millrace.lifecycle.encryption.model:RecoveryKey")
def recovery_key(new: bool, at_restart: bool, key_stdin: bool, show: Output) -> None:
    """Print the recovery key, this one time; it is stored nowhere.

    The first start of an encrypted root file system makes it.
    """
    from millrace.lifecycle.encryption.enroll import new_recovery_key, recovery_key_at_restart

    if at_restart:
        if new or key_stdin:
            raise click.UsageError("--at-restart takes neither --new nor --key-stdin.")
        show(recovery_key_at_restart(attempt), _at_restart)
        return
    show(new_recovery_key(attempt, new, lambda: _typed(key_stdin)), _key)


@encryption.command()
@_stdin
@_bound
def rebind(key_stdin: bool, show: Output) -> None:
    """Let this server's TPM open the root file system, with Secure Boot as it is now.

    After a new mainboard, or where firmware has other Secure Boot keys. Asks for the recovery key.
    """
    from millrace.lifecycle.encryption.enroll import bind

    show(bind(attempt, True, lambda: _typed(key_stdin)), _binding)


@encryption.command()
@_stdin
@_bound
def suspend(key_stdin: bool, show: Output) -> None:
    """Let the TPM not ask about Secure Boot until `rebind`, while its keys or the firmware are changed.

    Meanwhile root opens on this server with Secure Boot off, too. Asks for the recovery key.
    """
    from millrace.lifecycle.encryption.enroll import bind

    show(bind(attempt, False, lambda: _typed(key_stdin)), _binding)


def _typed(from_stdin: bool) -> str:
    from millrace.system.prompt import secret

    return secret("Recovery key", from_stdin, "--key-stdin")


def _rows(found: "Encryption") -> Iterator[str]:
    return fields(_pairs(found))


def _pairs(root: "Encryption") -> "Iterator[tuple[str, Cell]]":
    if root.device is None:
        without = [f"a new one would not be, either: {root.without}"] if root.without else []
        yield "Root file system", ["not encrypted", *without]
        return
    since = f" since {moment(root.since)}" if root.since else ""
    yield "Root file system", f"encrypted{since} ({', '.join(part for part in (root.device, root.cipher) if part)})"
    opens = "this server's TPM" if root.opened is not False else "not this server's TPM: millrace encryption rebind"
    yield "Opened by", opens if root.bound else "the recovery key only"
    if root.bound:
        asks = ["a kernel image signed with pcr.key (PCR 11)"]
        asks += ["Secure Boot with its keys of then (PCR 7)"] if root.secure_boot else []
        yield "TPM asks for", ", ".join(asks)
    yield "TPM here", root.tpm_name or ("yes" if root.tpm else "none")
    yield "Recovery key", "exists" if root.recovery_key else "none: millrace encryption recovery-key"


def _key(made: "RecoveryKey") -> Iterator[str]:
    yield "The recovery key of the root file system, shown this one time and stored nowhere:"
    yield ""
    yield f"    {made.key}"
    yield ""
    yield "Keep it apart from this server. The console asks for it where the TPM does not open the file system."
    if made.replaced:
        yield "The previous recovery key is no longer accepted."


def _at_restart(asked: "RecoveryKey") -> Iterator[str]:
    yield "The next start makes a recovery key. Restart the server, then run: millrace encryption recovery-key"
    if asked.replaced:
        yield "The previous recovery key is accepted until then."


def _binding(done: "Bound") -> Iterator[str]:
    if done.secure_boot:
        yield "The TPM of this server opens the root file system, with Secure Boot as it is now."
    else:
        yield "The TPM does not ask about Secure Boot until: millrace encryption rebind"
