# SPDX-License-Identifier: Apache-2.0
"""The version of an image: that of the tree, and in a release the time of its commit, by which releases are ordered."""

import os
from datetime import UTC, datetime
from pathlib import Path

from millrace.system.errors import BadInput, Failed
from millrace.system.run import Result, Runner, attempt, last_words

RELEASE = "MILLRACE_RELEASE_VERSION"
"""The variable that has the version while a release is built, also in programs that this one starts."""


def base(repo: Path) -> str:
    """Return the version of the tree."""
    return (repo / "mkosi.version").read_text().strip()


def current(repo: Path) -> str:
    """Return the version that is being built."""
    return os.environ.get(RELEASE) or base(repo)


def dated(repo: Path, run: Runner = attempt) -> str:
    """Return the version of a release, as 0.1.0.20261124.1456: that of the tree, and the commit's time in UTC.

    SOURCE_DATE_EPOCH, in seconds, counts instead of the commit's time. No clock is read: the same commit gives the same
    version. In a tree that is no clone it is the version of the tree.

    BadInput: SOURCE_DATE_EPOCH is no number, or the tree has changes that are not committed; other changes would have
    the same version. Failed: git cannot read the clone.
    """
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given is None and not (repo / ".git").exists():
        return base(repo)
    if given is None:
        if _git(repo, run, "status", "--porcelain", "--untracked-files=no").out.strip():
            raise BadInput(
                "The tree has changes that are not committed; commit them, a release is named by its commit."
            )
        given = _git(repo, run, "log", "-1", "--format=%ct").out.strip()
    if not given.isdecimal():
        raise BadInput(f"SOURCE_DATE_EPOCH={given} is no number of seconds.")
    return f"{base(repo)}.{datetime.fromtimestamp(int(given), UTC):%Y%m%d.%H%M}"


def tagged(repo: Path, tag: str, run: Runner = attempt) -> str:
    """Return the version of the release of a tag, which is `v` with the version of the tree, as `dated`.

    BadInput: the tag is of another version, NEWS.md does not describe it as released, or as `dated`. Failed: as
    `dated`.
    """
    if tag != f"v{base(repo)}":
        raise BadInput(f"The tag {tag} is not v{base(repo)}: set the version in mkosi.version, then tag that commit.")
    heading = f"## {base(repo)}"
    if heading not in (repo / "NEWS.md").read_text().splitlines():
        raise BadInput(f"NEWS.md has no heading {heading!r}; describe the version there without '(not released)'.")
    return dated(repo, run)


def _git(repo: Path, run: Runner, *words: str) -> Result:
    # root builds in clones of other users
    done = run(["git", "-c", f"safe.directory={repo}", "-C", str(repo), *words])
    if done.status != 0:
        raise Failed(f"git cannot read {repo}: {last_words(done)}.")
    return done
