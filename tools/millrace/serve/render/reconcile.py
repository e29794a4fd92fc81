# SPDX-License-Identifier: Apache-2.0
"""One way to the files: render all once, compare, write what differs, reload, verify, and roll back on failure."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from millrace.serve.config.model import Config
from millrace.serve.render import rendered
from millrace.serve.render.registry import Change, FileEntry, RenderedService, RenderPart, Say, Settled, silent
from millrace.serve.render.rendered import Rendered, digest
from millrace.system import paths
from millrace.system.errors import MillraceError, Refused
from millrace.system.files import describe, replace_link, write_text


@dataclass(frozen=True)
class FileDifference:
    """An entry compared with its file: the present and the desired text; None where it is or should be absent."""

    entry: FileEntry
    found: bytes | None
    wanted: bytes | None
    edited: bool
    # A file that we did not write and that is about to be replaced.
    foreign: bool = False
    # A change that was killed may have written it and reloaded nothing.
    interrupted: bool = False

    @property
    def differs(self) -> bool:
        """Whether the file is not as it should be."""
        return self.found != self.wanted

    @property
    def is_due(self) -> bool:
        """Whether it is to be written, or its service to be reloaded."""
        return self.differs or self.interrupted


def compare(services: Sequence[RenderedService], record: Rendered | None = None) -> list[FileDifference]:
    """Render each entry once and compare it with its file. Writes nothing; raises what rendering raises."""
    known = record or rendered.load()
    return [_difference(entry, known) for service in services for entry in service.entries]


def settle(services: Sequence[RenderedService], force: bool) -> Settled:
    """Write the files of the entries and reload each service once; the caller holds the lock of the desired state.

    Where no entry is recorded, no lock is needed.

    A file that was edited by hand is left and reported, or with `force` replaced, and a copy is kept. Services are
    reloaded one after the other: where one fails those before it are served, and its error is raised.
    """
    record = rendered.load()
    differences = {difference.entry.path: difference for difference in compare(services, record)}
    edited = [path for path, difference in differences.items() if difference.edited]
    settled = Settled(edited=edited, kept=[] if force else edited)
    due = {
        path: difference for path, difference in differences.items() if difference.is_due and path not in settled.kept
    }
    for path, difference in due.items():
        if (difference.edited or difference.foreign) and difference.found is not None:
            rendered.keep_aside(path, difference.found)
    # Ahead of the writes: a kill in between must not make our own text look like an edit.
    ahead = rendered.save(record, {**record.files, **_while_writing(due)})
    done = {path for path in differences if path not in due and path not in settled.kept}
    try:
        for service in services:
            for entry in service.entries:
                if entry.path in due:
                    _write(due[entry.path])
                    settled.changed.append(entry.path)
            if service.reload(settled):
                settled.reloaded.append(service.unit)
            done |= {entry.path for entry in service.entries if entry.path in settled.changed}
    finally:
        # A file that was written and whose service failed stays as it is ahead: the next rendering reloads it.
        written = {path: known for path, known in ahead.files.items() if path in settled.changed}
        rendered.save(ahead, _afterwards({**record.files, **written}, [differences[path] for path in done]))
    return settled


@dataclass
class Reconciliation:
    """The effect of a change of the desired state; afterwards, what was verified and warned of.

    Parts come one after the other, since a later one may serve what an earlier one made true: addresses, then shares.
    """

    parts: Sequence[RenderPart]
    verified: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    say: Say = silent

    def __call__(self, old: Config, new: Config) -> None:
        """Make `new` true in the place of `old`; where that fails make `old` true again and raise Refused with why.

        Where a part made the change final, what fails after that is a warning.
        """
        change = Change(old, new, self.verified, self.warnings, say=self.say)
        begun: list[RenderPart] = []
        try:
            for part in self.parts:
                part.prepare(change)
                begun.append(part)
                settled = settle(part.services(new), part.force)
                edited = [path for path in settled.edited if path not in settled.kept]
                change.warnings += [f"/{path} was edited by hand; replaced, the edited file is kept" for path in edited]
                change.warnings += settled.warnings
                part.verify(change)
        except BaseException as error:
            if not (change.final and isinstance(error, MillraceError | OSError)):
                raise _refusal(error, _put_back(change, begun)) from error
            change.warnings.append(f"{describe(error)}; see millrace health")
        for part in self.parts:
            part.finish(change)


def _put_back(change: Change, begun: Sequence[RenderPart]) -> str | None:
    """Serve the old state again, in the order in which it was left; what could not be undone, in words."""

    def serve(part: RenderPart) -> Callable[[], object]:
        return lambda: settle(part.services(change.old), part.force)

    troubles = []
    for step in (*map(serve, begun), *reversed(change.undo)):
        try:
            step()
        except (MillraceError, OSError) as error:
            troubles.append(describe(error))
    return f"and restoring the previous state failed: {troubles[0]}" if troubles else None


def _refusal(error: BaseException, trouble: str | None) -> BaseException:
    if not isinstance(error, MillraceError | OSError):
        return error
    return Refused(f"{describe(error).rstrip('.')}; {trouble or 'nothing was changed'}")


def _difference(entry: FileEntry, record: Rendered) -> FileDifference:
    content = _target(entry.path) if entry.link else rendered.content(entry.path)
    known = record.files.get(entry.path, [])
    if entry.when:
        wanted: bytes | None = entry.render().encode()
    else:
        # One of another's is not ours to remove.
        wanted = None if known or _is_named_ours(entry.path) else content
    # One that says what we want is no edit; a deleted file holds nothing that could be lost.
    edited = bool(known) and content not in (None, wanted) and digest(content) not in known
    foreign = entry.recorded and not known and not _is_named_ours(entry.path) and content not in (None, wanted)
    return FileDifference(entry, content, wanted, edited, foreign, interrupted=len(known) > 1)


def _target(name: str) -> bytes | None:
    """Where a link leads; of anything else that stands in its place, something that no link says."""
    path = paths.ROOT / name
    if path.is_symlink():
        return os.readlink(path).encode()
    return rendered.content(name)


def _is_named_ours(path: str) -> bool:
    return "millrace" in path.rpartition("/")[2]


def _write(difference: FileDifference) -> None:
    entry, path = difference.entry, paths.ROOT / difference.entry.path
    if difference.wanted is None:
        path.unlink(missing_ok=True)
        return
    text = difference.wanted.decode()
    if entry.link:
        replace_link(path, text)
        return
    if entry.check:
        entry.check(text)
    write_text(path, text, entry.mode)


def _while_writing(due: dict[str, FileDifference]) -> dict[str, list[str]]:
    """What may stand in each file until it is written, or until a kill."""
    return {
        path: [digest(one.found) or rendered.ABSENT, digest(one.wanted) or rendered.ABSENT]
        for path, one in due.items()
        if one.entry.recorded
    }


def _afterwards(files: dict[str, list[str]], done: Sequence[FileDifference]) -> dict[str, list[str]]:
    """The record when entries are as they should be and their services know."""
    after = dict(files)
    for one in done:
        wanted = digest(one.wanted)
        if wanted is None or not one.entry.when:
            after.pop(one.entry.path, None)
        elif one.entry.recorded:
            after[one.entry.path] = [wanted]
    return after
