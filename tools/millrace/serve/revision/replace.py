# SPDX-License-Identifier: Apache-2.0
"""Replace the whole desired state: rollback and import.

A network that differs is not replaced with the rest: it is tried as a change of `millrace network` is, and an
administrator who cannot reach the server any more gets the previous one back.
"""

import dataclasses
from collections.abc import Callable
from typing import Literal

from millrace.serve.account import accounts
from millrace.serve.account.account_change import AccountChange
from millrace.serve.config import carried, history, store
from millrace.serve.config.model import Config
from millrace.serve.network import refusals, trial, trial_record
from millrace.serve.network.trial import NetworkServer
from millrace.serve.render.reconcile import Reconciliation
from millrace.serve.render.registry import Say, silent
from millrace.serve.revision.portable import Portable
from millrace.serve.share.server import ShareServer, this_server
from millrace.serve.share.share_change import ShareChange
from millrace.system import paths
from millrace.system.documents import Contract
from millrace.system.errors import Failed, MillraceError, Refused
from millrace.system.run import Runner
from millrace.system.users import invoking_user, only_root

NOT_JOINED = "the exporting server was a member of {zone}; join the domain: millrace domain join"


TRIED = (
    "the network differs: it is in force for {seconds} s, and then the previous one again; to keep it: {confirm}, "
    "or the page Network"
)

NO_POOL = "no pool yet; the shares are served once a pool exists"


class ReplaceReport(Contract):
    """What rollback or import did. `without_password` are users that were made and cannot log in yet."""

    schema_version: Literal[1] = 1
    serial: int
    verified: list[str]
    warnings: list[str]
    without_password: list[str]


def rollback(
    number: int,
    run: Runner,
    server: Callable[[], ShareServer] = this_server,
    say: Say = silent,
    host: NetworkServer | None = None,
) -> ReplaceReport:
    """Restore the state after change `number`, as a new change; nothing changes if that state cannot be served.

    `say` shows progress. `host` is where a network that differs is tried, this server by default.

    Refused: the change is not kept or never took effect, a change of the network is not confirmed, or the network
    cannot be made. Failed: what it serves does not verify, or the network does not come up.
    """
    only_root()
    wanted = history.read(number)
    now = store.read().config.serial
    if number > now:
        raise Refused(f"change {number} never took effect; the last one is {now}: millrace config history")
    what, at = f"config rollback {number}", host or NetworkServer(run, server=server)
    return _try_network(what, wanted.config, _replace(what, wanted.config, at, say), at)


def import_state(
    portable: Portable,
    run: Runner,
    server: Callable[[], ShareServer] = this_server,
    say: Say = silent,
    host: NetworkServer | None = None,
) -> ReplaceReport:
    """Replace the desired state by an exported one with its passwords, and what other rooms keep beside it.

    `say` shows progress. `host` is where a network that differs is tried, this server by default.

    Refused: a change of the network is not confirmed, or the network cannot be made. Failed: the state does not verify,
    or, after it was replaced, a password, the rest or the network cannot be set.
    """
    only_root()
    at = host or NetworkServer(run, server=server)
    report = _replace("config import", portable.config, at, say, overwrite=True)
    say(f"Comparing passwords (users: {len(set(portable.shadow) | set(portable.nt))})")
    try:
        accounts.set_hashes(portable.config, portable.shadow, portable.nt, run)
    except Failed as error:
        raise Failed(f"imported, except the passwords; import again: {error}") from error
    known = set(portable.shadow) | set(portable.nt)
    without = [name for name in report.without_password if name not in known]
    made = report.model_copy(
        update={"warnings": [*report.warnings, *_take(portable, run)], "without_password": without}
    )
    return _try_network("config import", portable.config, made, at)


def _take(portable: Portable, run: Runner) -> list[str]:
    """Replace what other rooms keep by what is in the file; what it does not mention stays."""
    remedies = []
    for key, value in portable.carried.items():
        one = carried.known()[key]
        try:
            remedies += one.take(value, run)
        except MillraceError as error:
            raise Failed(f"imported, except the {one.title}; import again: {error}") from error
    return remedies


def _try_network(what: str, wanted: Config, report: ReplaceReport, host: NetworkServer) -> ReplaceReport:
    """Put the network of a state on trial where it differs, as the last step: it may end the session."""
    part = trial_record.part_of(wanted)
    if part == trial_record.part_of(store.load()):
        return report
    try:
        done = trial.try_change(what, lambda config: trial_record.with_part(config, part), host)
    except (Refused, Failed) as error:
        raise Failed(f"the state was replaced, except the network: {error}") from error
    tried = TRIED.format(seconds=done.seconds, confirm=trial.CONFIRM)
    return report.model_copy(
        update={"verified": [*report.verified, *done.verified], "warnings": [*report.warnings, *done.warnings, tried]}
    )


def _replace(what: str, wanted: Config, host: NetworkServer, say: Say, overwrite: bool = False) -> ReplaceReport:
    """Replace all but the network, which is checked first: what cannot be made changes nothing."""
    accounts_ = AccountChange(host.run, every=True)
    # Without a pool there is nothing to serve yet; what is wanted is served when there is one.
    serving = [ShareChange(lambda: dataclasses.replace(host.server(), say=say))] if paths.pool_file().exists() else []
    done = Reconciliation([accounts_, *serving], say=say)

    def mutate(old: Config) -> Config:
        # The domain knows its members by a password that is no part of any state: joining is not undone by this.
        return trial_record.with_part(wanted.model_copy(update={"domain": old.domain}), trial_record.part_of(old))

    trial.refuse_open()
    now = store.read().config
    if trial_record.part_of(wanted) != trial_record.part_of(now):
        refusals.refuse(now, trial_record.with_part(now, trial_record.part_of(wanted)), host.run)
    config = store.change(invoking_user(), what, mutate, done, overwrite=overwrite)
    domain = [] if wanted.domain in (None, config.domain) else [NOT_JOINED.format(zone=wanted.domain.zone)]
    return ReplaceReport(
        serial=config.serial,
        verified=done.verified,
        warnings=[*done.warnings, *domain, *([] if serving else [NO_POOL])],
        without_password=accounts_.made,
    )
