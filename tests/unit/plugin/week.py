# SPDX-License-Identifier: Apache-2.0
"""What the verbs print in the first week of an appliance: networks, users, shares, a domain, alerts, metrics.

The server is one whose tools do what they are told; a server made of files (golden.py) cannot be changed.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest
from click.testing import CliRunner

from millrace.cli.program import millrace
from millrace.observe.alert.model import Report
from millrace.observe.health.deliveries import Delivery
from millrace.serve.join.join import join
from millrace.serve.share.server import ShareServer
from millrace.system import paths
from millrace.system.documents import write_model
from millrace.system.run import Result
from tests.fakes.appliance import Appliance
from tests.fakes.certificates import certify
from tests.fakes.files.box import NOW
from tests.fakes.files.running import Clock
from tests.fakes.samples import surroundings
from tests.fakes.tools import stand_in
from tests.unit.serve.join.member import PASSWORD as DOMAIN_PASSWORD
from tests.unit.serve.join.member import Member
from tests.unit.serve.network.network import Network

DIRECTORY = "appliance"
# Kibibytes by the number of the project, as xfs_quota reports them.
USAGE = {1001: 40_234_375_000, 1002: 10_307_921_511, 1003: 13_421_772_800, 1004: 302_734_375}
MODELS = ("--type=training", "--comment=Checkpoints of the vision team", "--size=10T", "--soft-size=9T")
CLIENTS = ("--nfs-client=10.0.0.0/24 access=ro", "--nfs-client=@gpus sec=krb5p xprtsec=tls:mtls")
PEOPLE = ("--smb-user=anna", "--smb-user=ben")
PASSWORD = "s3cret-word-2\n"
METRICS_TOKEN = "made-by-the-server-of-these-tests-0123456789"
UNLISTED = Result(0, "IPC|IPC$|\n", "")
UNTRUSTED = Result(1, "", "could not obtain winbind domain name!")
UNREACHABLE = Result(255, "", "Didn't find the cldap server!")
TIMED_OUT = Result(124, "", "smbstatus did not finish in 20 s")

Kind = TypeVar("Kind", bound=Appliance)


class Week(Network):
    """An appliance with two ports and without a policy, so that it is closed until networks are confirmed."""

    TAKEN = (
        *Network.TAKEN,
        "smbstatus --json",
        "systemctl restart millrace-metrics.service",
        "systemctl start millrace-metrics-collect.service",
    )

    def server(self, *networks: str) -> ShareServer:
        """This server; the networks of its clients are those of its desired state."""
        return replace(super().server(*networks), context=replace(surroundings(), networks=[]))


def documents() -> dict[str, str]:
    """The text of every document by its path below the golden files."""
    with _running(Week) as appliance:
        made = dict(_printed(appliance))
    with _running(Member) as member:
        made |= dict(_domain(member))
    return {f"{DIRECTORY}/{name}": text for name, text in made.items()}


@contextmanager
def _running(kind: type[Kind]) -> Iterator[Kind]:
    """An appliance on the 20th of November 2026 at noon, whose administrator runs the program on it."""
    with tempfile.TemporaryDirectory(prefix="millrace-week-") as directory, pytest.MonkeyPatch.context() as patch:
        patch.setattr(paths, "ROOT", Path(directory))
        patch.setenv("SUDO_USER", "admin")
        patch.setattr("os.geteuid", lambda: 0)
        # the pool of a fake is on the disk of this host, which is no measure
        patch.setattr("millrace.serve.share.quota.pool_size", lambda mountpoint: None)
        for change in ("os.chown", "os.fchown", "os.fsync"):
            patch.setattr(change, lambda *arguments: None)
        patch.setattr("socket.gethostname", lambda: "millrace")
        patch.setattr("millrace.serve.config.store.datetime", Clock)
        patch.setattr("millrace.serve.share.kept_results.datetime", Clock)
        appliance = kind(Path(directory))
        certify(end=NOW.replace(year=2126))
        stand_in(patch, appliance)
        appliance.opens_nfs(patch)
        edits = ("edit.create_shares", "edit.set_share", "edit.remove_share", "edit.preview")
        appliance.answers_for(patch, *edits, "verify.verify", "confirm.confirm")
        patch.setattr("millrace.serve.join.join.join", partial(join, server=appliance.server))
        yield appliance


def _printed(appliance: Week) -> Iterator[tuple[str, str]]:
    appliance.joined()
    yield "share-list.obstacle.json", said("share", "list")
    for verb in ("user list", "group list", "bench list", "bench clients list", "alert route list"):
        yield f"{verb.replace(' ', '-')}.empty.json", said(*verb.split())
    said("share", "networks", "set", "10.0.0.0/24", "10.0.1.0/24")
    yield "share-networks-list.json", said("share", "networks", "list")
    yield from _accounts()
    yield from _routes()
    yield from _metrics()
    create = ("share", "create", "models", *MODELS, *CLIENTS, *PEOPLE)
    yield "share-create.--dry-run.json", said(*create, "--dry-run")
    yield "share-create.json", said(*create)
    said("share", "create", "datasets", "--type=dataset-ro", "--no-smb", "--size=40T")
    said("share", "create", "home", "--type=home", "--no-nfs", "--smb-group=ml", "--size=2T")
    said("share", "create", "backup", "--type=home", "--no-nfs", "--smb-user=carla", "--time-machine", "--size=1T")
    appliance.usage = "".join(f"#{project} {used} 0 0\n" for project, used in USAGE.items())
    yield "share-list.json", said("share", "list")
    for verb in ("user list", "group list", "config show", "config history", "share verify", "client zone"):
        yield f"{verb.replace(' ', '-')}.json", said(*verb.split())
    appliance.broken = {"smbclient -m SMB3_11 -A": UNLISTED, "smbstatus": TIMED_OUT}
    yield "share-verify.broken.json", said("share", "verify", "data")
    yield "session-list.partial.json", said("session", "list")
    appliance.broken = {}
    yield "share-remove.json", said("share", "remove", "models")
    for name in ("data", "datasets", "home", "backup"):
        said("share", "remove", name)
    yield "share-list.empty.json", said("share", "list")


def _accounts() -> Iterator[tuple[str, str]]:
    said("group", "create", "ml")
    yield "user-create.json", said("user", "create", "anna", "--group=ml", "--password-stdin", stdin=PASSWORD)
    said("user", "create", "ben", "--group=ml", "--password-stdin", stdin=PASSWORD)
    said("group", "create", "ops")
    said("user", "set", "ben", "--group=ml", "--group=ops")
    said("user", "create", "carla", "--password-stdin", stdin=PASSWORD)
    yield "user-passwd.json", said("user", "passwd", "anna", "--password-stdin", stdin=PASSWORD)


def _routes() -> Iterator[tuple[str, str]]:
    """One route that delivers, one that does not, and one that had nothing to deliver."""
    add = ("alert", "route", "add")
    mail = ("--server=smtp.example.com", "--from=nas@example.com", "--to=ops@example.com", "--daily=08:00")
    said(*add, "mail", "ops", *mail)
    said(*add, "webhook", "chat", "--url-stdin", stdin="http://chat.example.com/hooks/s3cret\n")
    said(*add, "syslog", "log")
    deliveries = [
        Delivery(route="ops", delivered=NOW.replace(hour=3, minute=12).isoformat()),
        Delivery(route="chat", problem="chat.example.com replied with status 500"),
    ]
    write_model(paths.alert_report_file(), Report(open=[], deliveries=deliveries, queued={"chat": 2}, tests=[]))
    yield "alert-route-list.json", said("alert", "route", "list")


def _metrics() -> Iterator[tuple[str, str]]:
    """The endpoint off, with a token and for addresses."""
    yield "metrics-status.off.json", said("metrics", "status")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("millrace.observe.metrics.endpoint.secrets.token_urlsafe", lambda length: METRICS_TOKEN)
        yield "metrics-on.json", said("metrics", "on")
        yield "metrics-status.json", said("metrics", "status")
        both = ("--new-token", "--from=10.1.0.9", "--from=10.2.0.0/24")
        yield "metrics-on.both.json", said("metrics", "on", *both)
        yield "metrics-status.both.json", said("metrics", "status")
    yield "metrics-on.addresses.json", said("metrics", "on", "--from=10.1.0.9", "--from=10.2.0.0/24")
    yield "metrics-status.addresses.json", said("metrics", "status")


def _domain(member: Member) -> Iterator[tuple[str, str]]:
    yield "domain-show.none.json", said("domain", "show")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("socket.create_connection", member.connected)
        words = ("ad.example.com", "Administrator", "--dns=10.1.0.5", "--password-stdin")
        yield "domain-join.json", said("domain", "join", *words, stdin=f"{DOMAIN_PASSWORD}\n")
    yield "domain-show.json", said("domain", "show")
    member.broken = {"wbinfo --check-secret": UNTRUSTED, "net -s": UNREACHABLE}
    yield "domain-show.broken.json", said("domain", "show")


def said(*words: str, stdin: str | None = None) -> str:
    """The document that a verb prints; a verb that refuses is an error."""
    result = CliRunner().invoke(millrace, [*words, "--json"], input=stdin, standalone_mode=False)
    if not result.stdout.startswith("{"):
        raise AssertionError(f"{' '.join(words)}: {result.output}{result.exception!r}")
    return result.stdout
