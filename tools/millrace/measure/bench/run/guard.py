# SPDX-License-Identifier: Apache-2.0
"""What prevents a run, and the labels that its results need. Reads only."""

from dataclasses import dataclass, field

from millrace.measure.bench.plan.site import Site
from millrace.measure.bench.result.model import Label, RunRequest
from millrace.measure.bench.run.remote import tokens
from millrace.measure.bench.run.remote.connection import ClientConnection, Unreachable
from millrace.serve.share.session import sessions
from millrace.storage.array.devices import array_device, block
from millrace.system import sysfs
from millrace.system.errors import BadInput, Refused
from millrace.system.mounts import mounted
from millrace.system.run import Runner

LOCAL = ("127.", "::1")
VIRTUAL = {"none", ""}


@dataclass
class GuardVerdict:
    """`obstacles` are sentences; a run may start where there are none. `labels` go with the results."""

    obstacles: list[str] = field(default_factory=list)
    labels: list[Label] = field(default_factory=list)

    def demand(self) -> list[Label]:
        """Return the labels. Refused: there is an obstacle; the first one."""
        if self.obstacles:
            raise Refused(self.obstacles[0])
        return self.labels


def check(
    request: RunRequest, site: Site, run: Runner, busy: str | None = None, *, connected: bool = False
) -> GuardVerdict:
    """Return what prevents a run now; `busy` is why another job does, in a sentence.

    `connected`: the caller has its connections to the clients already, and a client takes one.
    """
    verdict = GuardVerdict(obstacles=[busy] if busy else [])
    _writable(site.mountpoint, verdict)
    _arrays(request, site, verdict)
    _clients(request, site, run, verdict)
    if not verdict.obstacles and not connected:
        _reachable(site, verdict)
    # facts: emulation measures ratios; its GB/s mean nothing
    if hypervisor(run):
        verdict.labels.append("emulated")
    return verdict


def hypervisor(run: Runner) -> str | None:
    """Return the name of what emulates or virtualises this server; None on metal."""
    name = run(["systemd-detect-virt", "--vm"]).out.strip()
    return None if name in VIRTUAL else name


def _writable(mountpoint: str, verdict: GuardVerdict) -> None:
    found = mounted(mountpoint)
    if found and "ro" in found.options:
        verdict.obstacles.append(f"{mountpoint} is read-only: `millrace health` and `journalctl -k` say why")


def _arrays(request: RunRequest, site: Site, verdict: GuardVerdict) -> None:
    missing, syncing = [], []
    for record in site.pool.arrays:
        device = array_device(record.array.name)
        md = block(device or "none") / "md"
        if sysfs.number(md / "degraded"):
            missing.append(record.array.name)
        if (sysfs.text(md / "sync_action") or "idle") not in ("idle", "frozen"):
            syncing.append(record.array.name)
    groups: list[tuple[list[str], Label, str]] = [
        (missing, "degraded", "is degraded"),
        (syncing, "rebuilding", "is resyncing or being checked"),
    ]
    for names, label, words in groups:
        if names and request.degraded:
            verdict.labels.append(label)
        elif names:
            verdict.obstacles.append(
                f"array {names[0]} {words}, which affects the results: wait (`millrace health`), or give --degraded"
            )


def _reachable(site: Site, verdict: GuardVerdict) -> None:
    for client in site.clients:
        try:
            ClientConnection(client.name, client.address, tokens.of(client.name)).close()
        except (Unreachable, BadInput) as error:
            verdict.obstacles.append(str(error))


def _clients(request: RunRequest, site: Site, run: Runner, verdict: GuardVerdict) -> None:
    listing = sessions(run)
    # clients of this very run are no reason not to start it
    mine = {client.address for client in site.clients}
    hosts = sorted({session.host for session in listing.sessions} - mine)
    others = [host for host in hosts if not host.startswith(LOCAL)]
    if others and request.with_clients:
        verdict.labels.append("with-clients")
    elif others:
        verdict.obstacles.append(
            f"{_count(others)} connected ({', '.join(others[:3])}{', …' if len(others) > 3 else ''}) and would be "
            "slowed down: wait until no client is connected, or give --with-clients"
        )


def _count(hosts: list[str]) -> str:
    return "1 client is" if len(hosts) == 1 else f"{len(hosts)} clients are"
