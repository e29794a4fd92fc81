# SPDX-License-Identifier: Apache-2.0
"""Applies a file: what it changes is computed and verified first, then made or rolled back together.

Policy and alert routes come first, then the desired state as one change. A network that differs is tried last, as an
import does: it may end the session.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from millrace.cli.apply import report, rollback
from millrace.cli.apply.interrupts import Interrupts
from millrace.cli.apply.network import with_client_networks, with_network
from millrace.cli.apply.passwords import Passwords, PasswordsChange, due, kept, passwords
from millrace.cli.apply.people import with_accounts
from millrace.cli.apply.policy import removed, with_policy
from millrace.cli.apply.reading import FileProblems, Reading, located
from millrace.cli.apply.report import ApplyChange, ApplyReport
from millrace.cli.apply.rollback import ReachedState
from millrace.cli.apply.routes import WantedRoutes, with_routes
from millrace.cli.apply.shares import refuse_schedules, with_copies, with_shares
from millrace.observe.alert import routes
from millrace.observe.alert.model import Route
from millrace.plan.policy import edit as policy_edit
from millrace.plan.policy.policy_file import parse_policy
from millrace.serve.account import account_change
from millrace.serve.account.account_change import AccountChange
from millrace.serve.account.edit import make_homes
from millrace.serve.config import restrictions, store
from millrace.serve.config.model import Config, DesiredShare
from millrace.serve.network import refusals, trial, trial_record
from millrace.serve.network.trial import NetworkServer
from millrace.serve.render.reconcile import Reconciliation
from millrace.serve.render.registry import RenderPart, Say, silent
from millrace.serve.revision.replace import NO_POOL, TRIED
from millrace.serve.share import edit as share_edit
from millrace.serve.share import kept_snapshots
from millrace.serve.share.share_change import ShareChange
from millrace.system import paths
from millrace.system.documents import checked
from millrace.system.errors import BadInput, Refused
from millrace.system.run import Runner
from millrace.system.users import invoking_user, only_root

BETWEEN = "another change came between; apply the file again"
THINGS = {
    ("shares", 2): "share",
    ("users", 2): "user",
    ("access", 2): "account",
    ("groups", 2): "group",
    ("alert_routes", 2): "route",
    ("network", 3): "port",
}
"""What has a name in the file: its section, the length of its place, and its noun in sentences."""


@dataclass
class FileOutcome:
    """What a file makes of this server: the state of now and the one after, and what is kept beside it."""

    old: Config
    new: Config
    old_policy: str
    policy: str
    old_routes: list[Route]
    routes: WantedRoutes
    passwords: Passwords
    changes: list[ApplyChange]
    # what --prune removes, as `share data`
    removed: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def outcome(reading: Reading, prune: bool, host: NetworkServer) -> FileOutcome:
    """Return what a file makes of this server; changes nothing.

    FileProblems: it cannot be had here. Refused: the caller is not root or would take rights from itself, or the
    network cannot be made. BadInput: the desired state, the policy or the routes of now cannot be read. Failed: a share
    with another schedule of snapshots cannot be counted.
    """
    only_root()
    run = host.run
    old, text, before = store.load(), policy_edit.current(), routes.load()
    wanted = with_policy(text, reading, prune)
    of_policy = parse_policy(wanted, str(paths.policy_file())).nfs.networks
    new = with_network(old, reading, prune, run)
    new = with_accounts(new, reading, prune, run)
    new = with_shares(new, reading, prune)
    new = with_client_networks(new, reading, of_policy)
    alerts = with_routes(before, reading, prune)
    secrets = passwords(new, reading, run)
    reading.refuse()
    new = _verified(old, new, reading)
    account_change.refuse(old, new)
    refuse_schedules(old, new, reading, host.server)
    warnings = [*reading.warnings]
    if trial_record.part_of(new) != trial_record.part_of(old):
        trial.refuse_open()
        warnings += refusals.refuse(old, trial_record.with_part(old, trial_record.part_of(new)), run)
    changes = [
        *report.of_state(old, new),
        *(report.of_secret(f"password of {name}") for name in due(secrets, run)),
        *report.of_routes(before, alerts.routes),
        *map(report.of_secret, _of_routes(before, alerts)),
        *(report.of_policy(parse_policy(text, "policy"), parse_policy(wanted, "policy")) if wanted != text else []),
    ]
    gone = []
    if prune:
        gone = [*with_copies(_pruned(changes, new), old), *(f"policy key {key}" for key in removed(text, wanted))]
    return FileOutcome(old, new, text, wanted, before, alerts, secrets, changes, gone, warnings)


def checked_report(reading: Reading, wanted: FileOutcome) -> ApplyReport:
    """Return what would be changed."""
    return _report(reading.path, wanted, [], [])


def apply(reading: Reading, wanted: FileOutcome, host: NetworkServer, say: Say = silent) -> ApplyReport:
    """Make a server what a file wants: all of it, or nothing. `say` shows progress.

    A network that differs waits for its confirmation. Refused: something cannot be made, and what was made is rolled
    back. Failed: rolling it back failed as well.
    """
    only_root()
    if not wanted.changes:
        return checked_report(reading, wanted)
    undo: list[Callable[[], object]] = []
    done = _Done()
    with Interrupts() as interrupts:
        try:
            with policy_edit.changing():
                if policy_edit.current() != wanted.old_policy or routes.load() != wanted.old_routes:
                    raise Refused(BETWEEN)
                _policy(wanted, host.run, undo)
                _routes(wanted, host.run, undo, done)
            _state(reading, wanted, host, _Progress(say, undo, interrupts), done)
            # it may end the session, which interrupts no more: the rest stays for its confirmation
            interrupts.hold()
            _network(reading, wanted, host, done)
        except BaseException as error:
            interrupts.hold()
            raise rollback.rolled_back(error, reversed(undo)) from error
    return _report(reading.path, wanted, done.verified, done.warnings, done)


@dataclass
class _Done:
    verified: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    without_password: list[str] = field(default_factory=list)
    serial: int | None = None
    seconds: int | None = None


@dataclass
class _Progress:
    say: Say
    undo: list[Callable[[], object]]
    interrupts: Interrupts


def _verified(old: Config, new: Config, reading: Reading) -> Config:
    """The new state as the models have it. What contradicts itself has the line of the thing that it names."""
    try:
        made = checked(lambda: Config.model_validate(new.model_dump()))
        restrictions.refuse(old, made)
    except BadInput as error:
        raise FileProblems(reading.path, [_placed(str(error), reading)]) from error
    return made


def _placed(sentence: str, reading: Reading) -> str:
    """A sentence with the line of the thing that it names: of one that it names with its kind, else of the first."""
    words = sentence.replace(",", " ").replace(":", " ").split()
    things = [place for place in reading.lines if (place[0], len(place)) in THINGS and place[-1] in words]
    kinds = [place for place in things if f"{THINGS[str(place[0]), len(place)]} {place[-1]}" in " ".join(words)]
    ordered = sorted(kinds or things, key=lambda place: words.index(str(place[-1])))
    return located(reading.path, reading.lines, ordered[0] if ordered else (), sentence)


def _pruned(changes: list[ApplyChange], new: Config) -> list[str]:
    """The things that go; what a port of a bond had is that of the bond."""
    members = {f"port {port.name}" for port in new.network.members}
    return [change.thing for change in changes if change.action == "remove" and change.thing not in members]


def _of_routes(before: list[Route], wanted: WantedRoutes) -> list[str]:
    """The routes whose secret is new."""
    kept = routes.kept_secrets(before, wanted.routes, routes.secrets_of_routes())
    return [f"secret of alert route {name}" for name, value in wanted.secrets.items() if kept.get(name) != value]


def _policy(wanted: FileOutcome, run: Runner, undo: list[Callable[[], object]]) -> None:
    if wanted.policy == wanted.old_policy:
        return
    path = paths.policy_file()
    before = path.read_text() if path.exists() else None
    undo.append(lambda: rollback.restore_policy(before, wanted.old_policy, wanted.policy, run))
    policy_edit.keep(wanted.policy, run)


def _routes(wanted: FileOutcome, run: Runner, undo: list[Callable[[], object]], done: _Done) -> None:
    if wanted.routes.routes == wanted.old_routes and not _of_routes(wanted.old_routes, wanted.routes):
        return
    old, new, secrets = wanted.old_routes, wanted.routes, routes.secrets_of_routes()
    undo.append(lambda: rollback.restore_routes(old, secrets, new.routes, run))
    for route in routes.replace(new.routes, run, new.secrets, old):
        done.warnings.append(f"alert route {route.name} has no secret yet: name its file with secret_file, apply again")


def _state(reading: Reading, wanted: FileOutcome, host: NetworkServer, progress: _Progress, done: _Done) -> None:
    old, secrets = wanted.old, wanted.passwords
    new = trial_record.with_part(wanted.new, trial_record.part_of(old))
    if _same(new, old) and not due(secrets, host.run):
        return
    accounts_ = AccountChange(host.run)
    serving = ShareChange(host.server) if paths.pool_file().exists() else None
    shares = (old.shares, old.nfs) != (new.shares, new.nfs)
    reached = ReachedState(progress.interrupts)
    parts: list[RenderPart] = [
        accounts_,
        *([serving] if shares and serving else []),
        # last: an account that had no password keeps none where a share cannot be served
        PasswordsChange(secrets, host.run),
        reached,
    ]

    def mutate(now: Config) -> Config:
        if now != old:
            raise Refused(BETWEEN)
        return new

    removed_users = [user.name for user in old.users if new.user(user.name) is None]
    before = kept([*removed_users, *secrets.shadow, *secrets.plain], old, host.run)
    progress.undo.append(lambda: rollback.restore_state(old, reached.state, before, host))
    made = Reconciliation(parts, say=progress.say)
    config = store.change(invoking_user(), f"apply {reading.path.name}", mutate, made)
    progress.interrupts.release()
    done.serial = config.serial
    done.verified += made.verified
    done.warnings += [*made.warnings, *([NO_POOL] if shares and not serving else [])]
    known = {*secrets.plain, *secrets.shadow}
    done.without_password = [name for name in accounts_.made if name not in known]
    if serving:
        done.warnings += _released([share for share in old.shares if config.share(share.name) is None], serving)
    make_homes(config)


def _released(removed: Iterable[DesiredShare], serving: ShareChange) -> list[str]:
    server, sentences = serving.server, []
    mountpoint = server.pool.filesystem.mountpoint
    for share in removed:
        share_edit.release(share, server)
        sentences += [f"the data stays in {mountpoint}/{share.name}", *kept_snapshots.remain(share.name, mountpoint)]
    return sentences


def _network(reading: Reading, wanted: FileOutcome, host: NetworkServer, done: _Done) -> None:
    part = trial_record.part_of(wanted.new)
    if part == trial_record.part_of(wanted.old):
        return
    tried = trial.try_change(f"apply {reading.path.name}", lambda config: trial_record.with_part(config, part), host)
    done.seconds = tried.seconds
    done.verified += tried.verified
    done.warnings += [*tried.warnings, TRIED.format(seconds=tried.seconds, confirm=trial.CONFIRM)]


def _same(new: Config, old: Config) -> bool:
    counters = {"serial": 0, "next_id": old.next_id, "next_project": old.next_project}
    return new.model_copy(update=counters) == old.model_copy(update=counters)


def _report(
    path: Path, wanted: FileOutcome, verified: list[str], warnings: list[str], done: _Done | None = None
) -> ApplyReport:
    return ApplyReport(
        file=str(path),
        applied=done is not None,
        serial=done.serial if done else None,
        changes=wanted.changes,
        verified=verified,
        warnings=[*dict.fromkeys([*wanted.warnings, *warnings])],
        without_password=done.without_password if done else [],
        confirm_seconds=done.seconds if done else None,
    )
