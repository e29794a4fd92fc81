# SPDX-License-Identifier: Apache-2.0
"""`python3 -I -m millrace.lifecycle.etc`, in the initrd: make /etc what this version brings. `… list`, at the
build: list it.

No verb: it runs in the new root before there is /proc, and where nothing changed it imports next to nothing.
"""

import sys
from pathlib import Path

# as in millrace.lifecycle.etc.factory, which takes longer to import than to compare two files
FACTORY, RECORD = Path("/usr/share/factory/etc/.millrace-factory.json"), Path("/etc/.millrace-factory.json")


def main(words: list[str]) -> int:
    """Do what the words say; return the exit status."""
    if words == ["list"]:
        return _list()
    if RECORD.is_file() and FACTORY.is_file() and RECORD.read_bytes() == FACTORY.read_bytes():
        return 0
    return _follow()


def _list() -> int:
    from millrace.lifecycle.etc import factory
    from millrace.system.documents import write_model

    write_model(factory.factory_dir() / factory.LIST, factory.listed(factory.factory_dir()))
    return 0


def _follow() -> int:
    from millrace.lifecycle.etc.etc_update import update_etc
    from millrace.system.errors import LaterRelease, MillraceError

    try:
        done = update_etc()
    except LaterRelease as error:
        # a boot with the later /etc, which the health check names, and no failed unit: nothing was to be done
        print(f"/etc stays that of a later version: {error}", file=sys.stderr)
        return 0
    except (MillraceError, OSError) as error:
        print(f"/etc of this version is not written: {error}", file=sys.stderr)
        return 1
    if done is None:
        return 0
    print(f"/etc of this version: {len(done.written)} written, {len(done.removed)} removed, {len(done.kept)} kept")
    for name in done.kept:
        print(f"/etc/{name} was changed here and is kept; this version has another in {FACTORY.parent}")
    for problem in done.problems:
        print(problem, file=sys.stderr)
    return 1 if done.problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
