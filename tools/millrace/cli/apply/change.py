# SPDX-License-Identifier: Apache-2.0
"""Applies a file: what it changes is computed and verified first, then made or rolled back together.

Policy and alert routes come first, then the desired state as one change. A network that differs is tried last, as an
import does: it may end the session.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from millrace.cli.apply import report
from millrace.cli.apply.network import with_client_networks, with_network
from millrace.cli.apply.passwords import HashChange, Passwords, due, kept_hashes, passwords
from millrace.cli.apply.people import with_accounts
from millrace.cli.apply.policy import removed, with_policy
from millrace.cli.apply.reading import FileProblems, Reading, located
from millrace.cli.apply.report import ApplyChange, ApplyReport
from millrace.cli.apply.routes import WantedRoutes, with_routes
from millrace.cli.apply.shares import with_shares
from millrace.observe.alert import routes
from millrace.observe.alert.model import Route
from millrace.plan.policy import edit as policy_edit
from millrace.plan.policy.policy_file import parse_policy
from millrace.serve.account import accounts
from millrace.serve.account.account_change import AccountChange, PasswordChange
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
from millrace.system.errors import BadInput, Failed, MillraceError, Refused
from millrace.system.files import describe
from millrace.system.run import Runner
from millrace.system.users import invoking_user, only_root


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
    warnings: list[str] = field(default_factory=list)

    @property
    def removed(self) -> list[str]:
        """The things that are removed, as `share data`."""
        of_policy = [] if self.policy == self.old_policy else removed(self.old_policy, self.policy)
        return [change.thing for change in self.changes if change.action == "remove"] + [
            f"policy key {key}" for key in of_policy
        ]


def outcome(reading: Reading, prune: bool, run: Runner) -> FileOutcome:
    """Return what a file makes of this server; changes nothing.

    FileProblems: it cannot be had here. Refused: the caller is not root, or the network cannot be made. BadInput: the
    desired state, the policy or the routes of now cannot be read.
    """
    only_root()
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
    return FileOutcome(old, new, text, wanted, before, alerts, secrets, changes, warnings)


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
    try:
        with policy_edit.changing():
            if policy_edit.current() != wanted.old_policy or routes.load() != wanted.old_routes:
                raise Refused("another change came between; apply the file again")
            _policy(wanted, host.run, undo)
            _routes(wanted, host.run, undo, done)
        _state(reading, wanted, host, say, undo, done)
        _network(reading, wanted, host, done)
    except (MillraceError, OSError) as error:
        raise _rolled_back(error, undo) from error
    return _report(reading.path, wanted, done.verified, done.warnings, done)


@dataclass
class _Done:
    verified: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    without_password: list[str] = field(default_factory=list)
    serial: int | None = None
    seconds: int | None = None


def _verified(old: Config, new: Config, reading: Reading) -> Config:
    """The new state as the models have it. What contradicts itself has the line of the thing that it names."""
    try:
        made = checked(lambda: Config.model_validate(new.model_dump()))
        restrictions.refuse(old, made)
    except BadInput as error:
        raise FileProblems(reading.path, [_placed(str(error), reading)]) from error
    return made


def _placed(sentence: str, reading: Reading) -> str:
    words = set(sentence.replace(",", " ").replace(":", " ").split())
    places = [place for place in reading.lines if len(place) in (2, 3) and str(place[-1]) in words]
    return located(reading.path, reading.lines, places[0] if places else (), sentence)


def _of_routes(before: list[Route], wanted: WantedRoutes) -> list[str]:
    """The routes whose secret is new."""
    kept = routes.kept_secrets(before, wanted.routes, routes.secrets_of_routes())
    return [f"secret of alert route {name}" for name, value in wanted.secrets.items() if kept.get(name) != value]


def _policy(wanted: FileOutcome, run: Runner, undo: list[Callable[[], object]]) -> None:
    if wanted.policy == wanted.old_policy:
        return
    path = paths.policy_file()
    before = path.read_text() if path.exists() else None
    undo.append(lambda: policy_edit.restore(before, run))
    policy_edit.keep(wanted.policy, run)


def _routes(wanted: FileOutcome, run: Runner, undo: list[Callable[[], object]], done: _Done) -> None:
    if wanted.routes.routes == wanted.old_routes and not _of_routes(wanted.old_routes, wanted.routes):
        return
    secrets = routes.secrets_of_routes()
    undo.append(lambda: routes.replace(wanted.old_routes, run, secrets))
    for route in routes.replace(wanted.routes.routes, run, wanted.routes.secrets):
        done.warnings.append(f"alert route {route.name} has no secret yet: name its file with secret_file, apply again")


def _state(
    reading: Reading,
    wanted: FileOutcome,
    host: NetworkServer,
    say: Say,
    undo: list[Callable[[], object]],
    done: _Done,
) -> None:
    old, secrets = wanted.old, wanted.passwords
    new = trial_record.with_part(wanted.new, trial_record.part_of(old))
    if _same(new, old) and not due(secrets, host.run):
        return
    accounts_ = AccountChange(host.run)
    serving = ShareChange(host.server) if paths.pool_file().exists() else None
    shares = (old.shares, old.nfs) != (new.shares, new.nfs)
    parts: list[RenderPart] = [
        accounts_,
        *([serving] if shares and serving else []),
        # last: an account that had no password keeps none where a share cannot be served
        *([HashChange(secrets, host.run)] if secrets.shadow or secrets.nt else []),
        *(PasswordChange(name, password, host.run) for name, password in secrets.plain.items()),
    ]

    def mutate(now: Config) -> Config:
        if now != old:
            raise Refused("another change came between; apply the file again")
        return new

    replaced = [user.name for user in old.users if new.user(user.name) is None or user.name in secrets.shadow]
    before = kept_hashes(replaced, host.run)
    made = Reconciliation(parts, say=say)
    config = store.change(invoking_user(), f"apply {reading.path.name}", mutate, made)
    undo.append(lambda: _restore(old, before, host))
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


def _restore(old: Config, hashes: Passwords, host: NetworkServer) -> None:
    """Make the state of before true again, as one more change; `hashes` are those of passwords that it had."""
    serving = [ShareChange(host.server)] if paths.pool_file().exists() else []
    done = Reconciliation([AccountChange(host.run), *serving])
    config = store.change(invoking_user(), "apply, rolled back", lambda now: old, done)
    accounts.set_hashes(config, hashes.shadow, hashes.nt, host.run)


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


def _rolled_back(error: MillraceError | OSError, undo: list[Callable[[], object]]) -> Refused | Failed:
    troubles = []
    for step in reversed(undo):
        try:
            step()
        except (MillraceError, OSError) as trouble:
            troubles.append(describe(trouble))
    sentence = describe(error).rstrip(".")
    if troubles:
        return Failed(f"{sentence}; and restoring the previous state failed: {troubles[0]}")
    ended = "" if sentence.endswith("nothing was changed") else "; nothing was changed"
    return Refused(f"{sentence}{ended}")


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
