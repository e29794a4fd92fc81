# SPDX-License-Identifier: Apache-2.0
"""A change of shares: made true, looked at, and undone where it is not true."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from millrace.errors import Failed, MillraceError, Refused
from millrace.share import directories, quota, truth_nfs, truth_smb
from millrace.share.demands import refuse_unmet
from millrace.share.leftovers import sweep
from millrace.share.model import Share
from millrace.share.server import Server
from millrace.state.model import Config
from millrace.state.model import Share as Wanted
from millrace.system.files import describe
from millrace.system.names import several
from millrace.system.units import is_active


@dataclass
class Serving:
    """The effect of a change of the wanted state on the shares; afterwards, what was seen and warned of."""

    server: Server
    verified: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    _closed: list[tuple[Share, directories.Before]] = field(default_factory=list)

    def __call__(self, old: Config, new: Config) -> None:
        """Serve `new` in the place of `old`; where that fails, serve `old` again and raise Refused with the reason."""
        sweep(self.server.run)
        made: list[Share] = []
        wanted = {share.name: share for share in self.server.shares(new)}
        moved = old.nfs != new.nfs
        changed = [wanted[one.name] for one in new.shares if differs(old, one) or (moved and one.nfs.follows_networks)]
        try:
            self._prepare(changed, made)
        except BaseException as error:
            raise self._refusal(error, self._take_back(made)) from error
        try:
            self._serve(old, new, changed)
        except BaseException as error:
            raise self._refusal(error, self._undo(old, made)) from error

    def _serve(self, old: Config, new: Config, changed: Sequence[Share]) -> None:
        gone = [one.name for one in old.shares if new.share(one.name) is None]
        report = self.server.apply(new, force=True)
        self.warnings += report.warnings
        self.warnings += [f"{name} was edited by hand; replaced, the edited file is kept" for name in report.drift]
        self._disconnect(old, new)
        paths_gone = [f"{self.server.here.mountpoint}/{name}" for name in gone]
        if changed or gone:
            self.verified += truth_nfs.verify(changed, paths_gone, new.domain, self.server.run)
            self.verified += truth_smb.verify(changed, gone, new.domain, self.server.run, self.server.pause)

    def _prepare(self, changed: Sequence[Share], made: list[Share]) -> None:
        run, pool = self.server.run, self.server.pool
        for share in changed:
            refuse_unmet(share, run)
        _refuse_strangers(changed)
        for share in changed:
            if before := directories.close(share):
                self._closed.append((share, before))
            if directories.create(share):
                made.append(share)
        # once more: until it was closed others could make directories there
        _refuse_strangers(changed)
        if quota.enabled(pool.filesystem.mountpoint):
            complaints = quota.assign(changed, pool, run, created={share.name for share in made})
            if complaints:
                raise Failed(complaints[0])
        limited = [share.name for share in changed if share.size or share.soft_size]
        if limited and not quota.enabled(pool.filesystem.mountpoint):
            raise Refused(
                f"{several(limited)} cannot have a limit: the pool is mounted without project quotas (the option "
                "prjquota)"
            )

    def _disconnect(self, old: Config, new: Config) -> None:
        """Who is connected was let in by the old rules; smbd asks the new ones when a share is opened again."""
        names = [one.name for one in old.shares if one.smb.enabled and _lets_in_others(one, new.share(one.name))]
        if names and is_active("smbd.service", self.server.run):
            for name in names:
                self.server.run(["smbcontrol", "smbd", "close-share", name])

    def _refusal(self, error: BaseException, trouble: str | None) -> BaseException:
        if not isinstance(error, MillraceError | OSError):
            return error
        words = describe(error) if isinstance(error, OSError) else str(error)
        return Refused(f"{words.rstrip('.')}; {trouble or 'nothing was changed'}")

    def _undo(self, old: Config, made: Sequence[Share]) -> str | None:
        """Serve the old state again; what could not be undone, in words."""
        self._reopen()
        try:
            self.server.apply(old, force=True)
        except (MillraceError, OSError) as error:
            words = describe(error) if isinstance(error, OSError) else str(error)
            return f"and restoring the previous state failed: {words}"
        return self._take_back(made)

    def _reopen(self) -> None:
        while self._closed:
            directories.reopen(*self._closed.pop())

    def _take_back(self, made: Sequence[Share]) -> str | None:
        self._reopen()
        for share in made:
            directories.remove_empty(share)
        return None


def _refuse_strangers(shares: Sequence[Share]) -> None:
    found = [sentence for share in shares for sentence in directories.strangers(share)]
    if found:
        raise Refused(found[0])


def _lets_in_others(before: Wanted, after: Wanted | None) -> bool:
    return after is None or after.smb != before.smb or after.profile != before.profile


def differs(old: Config, share: Wanted) -> bool:
    """Whether a share of a new state is not as it was; its homes follow from the users too."""
    before = old.share(share.name)
    return before is None or before != share
