# SPDX-License-Identifier: Apache-2.0
"""What the tools install from PyPI is what the lock names, by hash, with all that it needs."""

import re
from pathlib import Path

from host.layout import REPO

HOST = REPO / "tools/host"
PINNED = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[a-z,]+\])?==(\S+)", re.MULTILINE)


def pins(path: Path) -> dict[str, str]:
    # PyPI takes dots, dashes and underscores for the same (PEP 503).
    return {re.sub(r"[._-]+", "-", name).lower(): version for name, version in PINNED.findall(path.read_text())}


def test_the_lock_has_the_versions_that_were_chosen() -> None:
    chosen, locked = pins(HOST / "requirements.txt"), pins(HOST / "requirements.lock")
    assert chosen and chosen.items() <= locked.items()


def test_every_package_of_the_lock_has_a_hash() -> None:
    entries = re.split(r"\n(?=[A-Za-z])", (HOST / "requirements.lock").read_text())
    named = [entry for entry in entries if PINNED.match(entry)]
    assert len(named) == len(pins(HOST / "requirements.lock")) > 10
    assert [entry.splitlines()[0] for entry in named if "--hash=sha256:" not in entry] == []


def test_pip_is_held_to_the_hashes() -> None:
    assert re.search(r"pip\" install .*--require-hashes .*-r .*requirements\.lock", (HOST / "enter").read_text())
