# SPDX-License-Identifier: Apache-2.0
"""Puts back what applying a file changed, unless another administrator changed the same since then."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from millrace.cli.apply.interrupts import Interrupts
from millrace.cli.apply.passwords import KeptPasswords, put_back
from millrace.observe.alert import routes
from millrace.observe.alert.model import Route
from millrace.plan.policy import edit as policy_edit
from millrace.serve.account.account_change import AccountChange
from millrace.serve.config import history, store
from millrace.serve.config.model import Config
from millrace.serve.network.trial import NetworkServer
from millrace.serve.render.reconcile import Reconciliation
from millrace.serve.render.registry import Change, RenderPart
from millrace.serve.share.share_change import ShareChange
from millrace.system import paths
from millrace.system.errors import Failed, MillraceError, Refused
from millrace.system.files import describe
from millrace.system.run import Runner
from millrace.system.users import invoking_user


@dataclass
class ReachedState(RenderPart):
    """The last part of a change: from here on the desired state is true, and an interruption waits until it is kept."""

    interrupts: Interrupts
    state: Config | None = field(default=None)

    def verify(self, change: Change) -> None:
        """Note the state that was made."""
        self.interrupts.hold()
        self.state = change.new


def restore_policy(before: str | None, old: str, made: str, run: Runner) -> None:
    """Put the text of the policy file back, None for no file.

    `old` and `made` are the policies before and after. Failed: it is another one by now, or a unit cannot apply it.
    """
    with policy_edit.changing():
        now = policy_edit.current()
        if now == old:
            return
        if now != made:
            raise Failed("the policy was changed after that and keeps the keys of the file: millrace policy edit")
        policy_edit.restore(before, run)


def restore_routes(old: list[Route], secrets: dict[str, str], made: list[Route], run: Runner) -> None:
    """Put the alert routes back. Failed: there are others by now, or systemd does not start the service."""
    if (routes.load(), routes.secrets_of_routes()) == (old, secrets):
        return
    try:
        routes.replace(old, run, secrets, made)
    except Refused as error:
        raise Failed("alert routes were changed after that and stay with those of the file") from error


def restore_state(old: Config, made: Config | None, passwords: KeptPasswords, host: NetworkServer) -> None:
    """Make the state of before true again, as one more change.

    `made` is the state that the file made; None where it was not made. Failed: another change came after it, which
    stays.
    """
    if made is None:
        return
    serving = [ShareChange(host.server)] if paths.pool_file().exists() else []
    restored = Reconciliation([AccountChange(host.run), *serving])

    def mutate(now: Config) -> Config:
        if now not in (old, made):
            raise Failed(_both(made.serial, now.serial))
        return old

    # `made` is in force even where it could not be written
    store.change(invoking_user(), "apply, rolled back", mutate, lambda _, new: restored(made, new))
    put_back(old, passwords, host.run)


def _both(ours: int, theirs: int) -> str:
    try:
        change = history.read(theirs)
        theirs_words = f"change {theirs} ({change.what}, by {change.who})"
    except MillraceError:
        theirs_words = f"change {theirs}"
    return f"{theirs_words} came after change {ours} of this file, and both stay: millrace config history"


def rolled_back(error: BaseException, undo: Iterable[Callable[[], object]]) -> BaseException:
    """Take the steps of `undo`, each whatever the others do; return what is to be raised in the place of an error."""
    troubles = []
    for step in undo:
        try:
            step()
        except (MillraceError, OSError) as trouble:
            troubles.append(describe(trouble).rstrip("."))
    if isinstance(error, KeyboardInterrupt):
        sentence = f"applying the file was interrupted ({error})" if error.args else "applying the file was interrupted"
    elif isinstance(error, MillraceError | OSError):
        sentence = describe(error).rstrip(".")
    elif troubles:
        sentence = f"applying the file failed ({type(error).__name__})"
    else:
        return error
    if troubles:
        return Failed(f"{sentence}; and restoring the previous state failed: {'; '.join(troubles)}")
    ended = "" if sentence.endswith("nothing was changed") else "; nothing was changed"
    return Refused(f"{sentence}{ended}")
