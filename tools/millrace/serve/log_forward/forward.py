# SPDX-License-Identifier: Apache-2.0
"""`[journal] forward` of the policy, as the settings of systemd-journal-upload(8)."""

import stat
from pathlib import Path

from millrace.plan.policy.model import JournalPolicy
from millrace.plan.policy.policy_in_force import in_force
from millrace.serve.config.store import config_lock
from millrace.serve.render.reconcile import settle
from millrace.serve.render.registry import FileEntry, RenderedService, Settled
from millrace.system import paths
from millrace.system.command import command
from millrace.system.errors import BadInput
from millrace.system.run import Runner, must

UNIT = "systemd-journal-upload.service"
# The unit starts where this file is.
SETTINGS = "etc/systemd/journal-upload.conf"
SYSTEM_CA = "/etc/ssl/certs/ca-certificates.crt"


def settings_file() -> Path:
    """The settings; the journal is forwarded where the file exists."""
    return paths.ROOT / SETTINGS


def sent_file() -> Path:
    """The file that systemd-journal-upload writes each time the receiver has accepted what was sent."""
    return paths.ROOT / "var/lib/private/systemd/journal-upload/state"


def apply(run: Runner) -> str:
    """Apply the policy in force; return the result in one sentence.

    BadInput: the policy, or the CA that it names, cannot be read. Refused: the caller is not root. Failed: systemd does
    not start or stop the unit.
    """
    with config_lock():
        wanted = in_force().journal
        settle([service(wanted, run)], force=True)
    if wanted.forward is None and settings_file().exists():
        return f"/{SETTINGS} is not managed by Millrace; the journal is forwarded as it says."
    return f"The journal is forwarded to {wanted.forward}." if wanted.forward else "The journal is not forwarded."


def service(wanted: JournalPolicy, run: Runner) -> RenderedService:
    """Return the unit that forwards the journal, and its settings; without a receiver it is stopped and has none."""

    def reload(settled: Settled) -> bool:
        if wanted.forward:
            # A unit that did not start last time, or that was stopped since, is started without a change, too.
            must(run, ["systemctl", "--no-block", "restart" if settled.changed else "start", UNIT])
        elif settled.changed:
            must(run, ["systemctl", "--no-block", "stop", UNIT])
        return bool(settled.changed)

    return RenderedService(UNIT, [FileEntry(SETTINGS, lambda: text(wanted), when=wanted.forward is not None)], reload)


def text(wanted: JournalPolicy) -> str:
    """Return journal-upload.conf(5). BadInput: the CA is missing or readable by root only."""
    from millrace.system.render import render

    assert wanted.forward is not None
    ca = wanted.ca or SYSTEM_CA
    tls = wanted.forward.startswith("https:")
    file = paths.ROOT / ca.lstrip("/")
    if tls and not file.is_file():
        raise BadInput(f"{ca} does not exist: copy the certificate of the receiver's authority to it")
    # systemd-journal-upload runs as a user of its own.
    if tls and not file.stat().st_mode & stat.S_IROTH:
        raise BadInput(f"{ca} is readable by root only: run {command('chmod 644', ca)}")
    return render(f"{SETTINGS}.j2", url=wanted.forward, tls=tls, ca=ca)
