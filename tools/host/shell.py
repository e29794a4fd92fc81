# SPDX-License-Identifier: Apache-2.0
"""ShellCheck over each shell script of the tree; a script is found by its first line or its name."""

import re
import subprocess
import sysconfig
from collections.abc import Sequence
from pathlib import Path

from host import tree
from host.entry import finish
from host.layout import REPO
from millrace.system.errors import Failed

FIRST_LINE = re.compile(rb"#!\s*(/usr)?/bin/(env\s+(-S\s+)?)?(sh|bash|dash|ksh)\b")
SUFFIXES = {".sh", ".bash", ".ksh", ".dash"}


def is_script(path: Path) -> bool:
    """Whether a shell reads the file."""
    if path.suffix in SUFFIXES:
        return True
    with path.open("rb") as file:
        return FIRST_LINE.match(file.read(64)) is not None


def scripts(root: Path) -> list[Path]:
    """Return the shell scripts of the tree at `root`. Failed: git cannot list its files."""
    return [path for path in tree.files(root) if not path.is_symlink() and is_script(path)]


def check(paths: Sequence[Path], root: Path) -> str:
    """Return the complaints of ShellCheck about scripts below `root`, nothing where there are none.

    Failed: ShellCheck cannot read a script.
    """
    program = Path(sysconfig.get_path("scripts"), "shellcheck")
    names = [str(path.relative_to(root)) for path in paths]
    done = subprocess.run([program, "--norc", *names], cwd=root, capture_output=True, text=True, check=False)
    # shellcheck(1): 1 is for complaints, above it nothing was checked
    if done.returncode > 1 or done.stderr:
        raise Failed(f"ShellCheck failed: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout.strip()


def main(arguments: list[str]) -> int:
    """Print the complaints about all scripts. Failed: there is no script, or one cannot be read."""
    found = scripts(REPO)
    if not found:
        raise Failed(f"There is no shell script in {REPO}.")
    if complaints := check(found, REPO):
        print(complaints)
        return 1
    print(f"{len(found)} shell scripts are in order")
    return 0


if __name__ == "__main__":
    finish(main)
