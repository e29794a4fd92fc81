# SPDX-License-Identifier: Apache-2.0
"""What a commit message looks like: `tools/host/hooks/commit-msg` refuses others.

It runs on every host with git, so it needs no package of Python.
"""

import subprocess
from datetime import UTC, datetime
from pathlib import Path

from host.entry import finish
from millrace.system.errors import BadInput, Failed, Refused

LONGEST = 72
"""Characters of a subject."""
SINCE = datetime(2026, 11, 29, tzinfo=UTC)
"""Subjects of commits that are older, by their author's date, may be longer."""
# git writes the first ones itself; the others are melted into another commit by `git rebase --autosquash`
OF_GIT = ("Merge ",)
MELTED = ("fixup! ", "squash! ", "amend! ")
# below it is the change itself, with `git commit --verbose`
SCISSORS = "# ------------------------ >8 ------------------------"


def complaints(message: str) -> list[str]:
    """Return what is wrong with a commit message, as git hands it to the hook; an empty one is left to git."""
    text = message.split(SCISSORS, 1)[0]
    lines = "\n".join(line.rstrip() for line in text.splitlines() if not line.startswith("#")).strip("\n").split("\n")
    subject = lines[0]
    if subject.startswith((*OF_GIT, *MELTED)):
        return []
    problems = []
    if len(subject) > LONGEST:
        problems.append(f"The subject has {len(subject)} characters; {LONGEST} are allowed.")
    if subject.endswith("."):
        problems.append("The subject ends with a full stop; remove it.")
    if len(lines) > 1 and lines[1]:
        problems.append("The second line is not empty; separate the body from the subject.")
    return problems


def long_subjects(repo: Path, count: int, since: datetime = SINCE) -> list[str]:
    """Return those of the last `count` commits of `repo` with a subject that is too long, as hash and subject.

    Commits from before `since` and merges are left out. Failed: git cannot read the history.
    """
    # under sudo the clone belongs to another user
    argv = ["git", "-c", f"safe.directory={repo}", "log", f"--max-count={count}", "--no-merges", "--format=%at %h %s"]
    try:
        done = subprocess.run(argv, cwd=repo, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise Failed("git is not installed.") from None
    if done.returncode:
        raise Failed(f"git cannot read the history of {repo}: {done.stderr.strip()}")
    commits = [line.split(" ", 2) for line in done.stdout.splitlines()]
    recent = [(digest, subject) for seconds, digest, subject in commits if int(seconds) >= since.timestamp()]
    return [f"{digest} {subject}" for digest, subject in recent if len(subject) > LONGEST]


def main(arguments: list[str]) -> int:
    """Verify the message in a file. Refused: it breaks a rule. BadInput: there is no such file."""
    if len(arguments) != 1:
        raise BadInput("Usage: commit-msg FILE")
    try:
        message = Path(arguments[0]).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise BadInput(f"The commit message cannot be read: {error}.") from error
    if problems := complaints(message):
        raise Refused(f"The commit message is refused. {' '.join(problems)} CONTRIBUTING.md has an example.")
    return 0


if __name__ == "__main__":
    finish(main)
