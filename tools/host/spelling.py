# SPDX-License-Identifier: Apache-2.0
"""codespell over the tree; spelling.txt has the words that are right here, each with a reason."""

import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from host import tree
from host.entry import finish
from host.layout import REPO
from millrace.system.errors import Failed

ALLOWED = REPO / "tools/host/spelling.txt"
# German, and what other programs wrote: checksums, names of packages
SKIPPED = {".po", ".lock"}
SKIPPED_NAMES = {"package-lock.json", "spelling.txt"}
# what the program printed, in columns that cut words; its own text is read where it stands. Hostile input is no text.
SKIPPED_PARTS = {"golden", "corpus"}
COMPLAINT = re.compile(r"(?P<where>.+:\d+): (?P<word>\S+) ==> .+")


def allowed(text: str) -> dict[str, str]:
    """Return the words of an allow-list in lower case, with their reasons. Failed: a word has none, or stands twice."""
    words: dict[str, str] = {}
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        word, _, reason = line.partition(" ")
        if not reason.strip():
            raise Failed(f"{ALLOWED.name}: {word!r} has no reason.")
        if word in words or word != word.lower():
            raise Failed(f"{ALLOWED.name}: {word!r} stands twice, or is not in lower case.")
        words[word] = reason.strip()
    return words


def _is_skipped(path: Path) -> bool:
    return path.suffix in SKIPPED or path.name in SKIPPED_NAMES or bool(SKIPPED_PARTS & set(path.parts))


def complaints(paths: Iterable[Path], root: Path, words: Iterable[str]) -> list[str]:
    """Return what is misspelt in files below `root`, and those of the allowed `words` that no file has any more.

    Failed: codespell did not run.
    """
    read = [path for path in paths if not _is_skipped(path)]
    names = [str(path.relative_to(root)) for path in read if not path.is_symlink()]
    # Without the list, so that a word is noticed that it needs no longer. An empty configuration: none of the user's.
    argv = [sys.executable, "-m", "codespell_lib", "--config", "/dev/null", "--quiet-level=2", *names]
    # Without a name it would read the whole directory.
    done = subprocess.run(argv if names else ["true"], cwd=root, capture_output=True, text=True, check=False)
    # 65 is for complaints (EX_DATAERR)
    if done.returncode not in (0, 65) or done.stderr:
        raise Failed(f"codespell failed: {done.stderr.strip()}")
    right, seen, wrong = set(words), set[str](), []
    for line in done.stdout.splitlines():
        match = COMPLAINT.fullmatch(line)
        if match is None:
            raise Failed(f"codespell printed an unknown line: {line}")
        word = match["word"].lower()
        seen.add(word)
        if word not in right:
            wrong.append(line)
    return wrong + [f"{ALLOWED.name}: no file has {word!r}: remove it" for word in sorted(right - seen)]


def main(arguments: list[str]) -> int:
    """Print what is misspelt in the tree. Failed: codespell did not run, or a word of the list has no reason."""
    found = complaints(tree.files(REPO), REPO, allowed(ALLOWED.read_text()))
    print("\n".join(found) or "the spelling is in order")
    return 1 if found else 0


if __name__ == "__main__":
    finish(main)
