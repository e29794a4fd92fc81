# SPDX-License-Identifier: Apache-2.0
"""The daemons that only a member runs: started by joining and by every boot after it, stopped by leaving."""

from collections.abc import Callable

from millrace.serve.config.model import Domain
from millrace.serve.domain import keys
from millrace.system.errors import Failed
from millrace.system.run import Runner, last_words, must
from millrace.system.wait import wait_until

WINBIND = "winbind.service"
# Loads the kernel's half of Kerberos before gssproxy tells it who accepts tickets (unit of nfs-utils).
KERNEL = "auth-rpcgss-module.service"
IDMAPD = "nfs-idmapd.service"
RESOLVED = "systemd-resolved.service"
SMBD = "smbd.service"

TRIES, PAUSE = 60, 1.0


def start(run: Runner) -> None:
    """Start what a member needs; its files and its keytab exist."""
    must(run, ["systemctl", "restart", WINBIND])
    must(run, ["systemctl", "start", KERNEL, keys.GSSPROXY])
    # It reads the domain of owners' names when it starts.
    must(run, ["systemctl", "try-restart", IDMAPD])
    # It knows whose users it takes from when it starts.
    must(run, ["systemctl", "restart", SMBD])


def stop(run: Runner) -> None:
    """Stop what only a member needs; the keytab is removed, so that nothing starts it again."""
    must(run, ["systemctl", "stop", WINBIND, keys.GSSPROXY, "rpc-gssd.service", KERNEL])
    must(run, ["systemctl", "try-restart", IDMAPD])
    must(run, ["systemctl", "restart", SMBD])


def reload_dns(run: Runner) -> None:
    """Reload the resolver, which then uses another server for the domain."""
    must(run, ["systemctl", "reload-or-restart", RESOLVED])


def verify_trust(domain: Domain, run: Runner, pause: Callable[[float], None]) -> str:
    """Return what was verified, in words: winbind and the domain trust each other. Failed: they do not in time."""
    result = wait_until(
        lambda: run(["wbinfo", "--check-secret"]), lambda asked: asked.status == 0, [PAUSE] * (TRIES - 1), pause
    )
    if result.status == 0:
        return f"{domain.workgroup} trusts this server"
    raise Failed(f"winbind does not reach {domain.zone}: {last_words(result)}")
