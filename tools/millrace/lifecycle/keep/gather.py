# SPDX-License-Identifier: Apache-2.0
"""Read everything that is kept, at one moment: read again until nothing changes in between."""

import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from millrace.lifecycle.access.one_time import USER
from millrace.lifecycle.keep import ssh_keys
from millrace.lifecycle.keep.kept_files import KEPT, How, KeptPath
from millrace.serve.config import store
from millrace.serve.render import rendered
from millrace.system import paths
from millrace.system.errors import Failed, MillraceError
from millrace.system.run import Runner, last_words
from millrace.system.wait import wait_until

LARGEST = 32 << 20
"""Bytes of one file: a history of 50 changes with 1000 shares each has half a MiB a change."""

SECONDS = [1.0] * 10
"""Pauses between two looks: a change of the desired state is several files."""

DUMPS = 8
"""Dumps of a database of Samba, at most, until two in a row agree."""

PRIVATE = 0o600


@dataclass(frozen=True)
class Content:
    """One file that is kept, by its path from the root directory."""

    path: str
    mode: int
    data: bytes
    kept: KeptPath
    link: str | None = None


@dataclass(frozen=True)
class Gathered:
    """Everything that is kept, by path, and what of the table could not be read, with the reasons in words."""

    contents: list[Content]
    problems: list[str]
    failed: list[KeptPath]


def settled(run: Runner, pause: Callable[[float], None]) -> Gathered:
    """Return everything that is kept, once two looks in a row agree, or after 10 seconds."""
    last: list[Gathered] = []

    def look() -> bool:
        last.append(gather(run))
        return len(last) > 1 and last[-1] == last[-2]

    wait_until(look, bool, SECONDS, pause)
    return last[-1]


def gather(run: Runner, table: list[KeptPath] = KEPT) -> Gathered:
    """Return everything that is kept, as it is now; what is not there is not kept."""
    contents, problems, failed = list[Content](), list[str](), list[KeptPath]()
    for one in table:
        try:
            contents += list(READERS[one.how](one, run))
        except (OSError, UnicodeDecodeError, MillraceError) as error:
            problems.append(f"{one.path}: {_words(error)}")
            failed.append(one)
    return Gathered(sorted(contents, key=lambda content: content.path), problems, failed)


def _words(error: Exception) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)


def _files(kept: KeptPath, run: Runner) -> Iterator[Content]:
    whole = paths.ROOT / kept.path
    found = sorted(whole.parent.glob(whole.name)) if "*" in kept.path else [whole]
    for path in found:
        if path.is_file():
            yield _file(kept, path)


def _link(kept: KeptPath, run: Runner) -> Iterator[Content]:
    path = paths.ROOT / kept.path
    if path.is_symlink():
        yield Content(kept.path, 0o777, b"", kept, link=str(path.readlink()))


def _tree(kept: KeptPath, run: Runner) -> Iterator[Content]:
    top = paths.ROOT / kept.path
    for path in sorted(top.rglob("*")):
        if path.name.startswith("."):
            continue
        if path.is_symlink():
            yield Content(_name(path), 0o777, b"", kept, link=str(path.readlink()))
        elif path.is_file():
            yield _file(kept, path)


def _tdb(kept: KeptPath, run: Runner) -> Iterator[Content]:
    """A database that Samba may be writing: two dumps in a row have to agree.

    tdbdump opens it read-only and therefore without locks (tdb, open.c); tdbbackup would lock it, and write beside it.
    """
    path = paths.ROOT / kept.path
    if not path.is_file():
        return
    text, before = _dumped(path, run), None
    for _ in range(DUMPS):
        if text == before:
            break
        text, before = _dumped(path, run), text
    if text != before:
        raise Failed(f"{DUMPS} dumps in a row differ")
    yield Content(f"{kept.path}.dump", PRIVATE, text.encode(), kept)


def _dumped(path: Path, run: Runner) -> str:
    result = run(["tdbdump", str(path)])
    if result.status != 0:
        raise Failed(f"tdbdump cannot read it: {last_words(result)}")
    return result.out


def _shadow(kept: KeptPath, run: Runner) -> Iterator[Content]:
    names = {USER, *(user.name for user in store.read().config.users)}
    path = paths.ROOT / "etc/shadow"
    lines = path.read_text().splitlines() if path.is_file() else []
    ours = [f"{line}\n" for line in lines if line.partition(":")[0] in names]
    if ours:
        yield Content(kept.path, PRIVATE, "".join(ours).encode(), kept)


def _quotas(kept: KeptPath, run: Runner) -> Iterator[Content]:
    quotas = rendered.load().quotas
    if quotas:
        yield Content(kept.path, 0o644, TypeAdapter(dict[str, str]).dump_json(dict(sorted(quotas.items()))), kept)


def _keys(kept: KeptPath, run: Runner) -> Iterator[Content]:
    data = ssh_keys.read(kept.path)
    if data is not None:
        yield Content(kept.path, ssh_keys.MODE, data, kept)


def _file(kept: KeptPath, path: Path) -> Content:
    found = path.stat()
    if found.st_size > LARGEST:
        raise Failed(f"{_name(path)} has more than {LARGEST >> 20} MiB")
    return Content(_name(path), stat.S_IMODE(found.st_mode), path.read_bytes(), kept)


def _name(path: Path) -> str:
    return str(path.relative_to(paths.ROOT))


READERS: Mapping[How, Callable[[KeptPath, Runner], Iterator[Content]]] = {
    "file": _files,
    "link": _link,
    "tree": _tree,
    "tdb": _tdb,
    "shadow": _shadow,
    "quotas": _quotas,
    "keys": _keys,
}
