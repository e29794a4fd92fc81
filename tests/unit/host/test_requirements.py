# SPDX-License-Identifier: Apache-2.0
"""What the tools install from PyPI is what the lock names, by hash, with all that it needs."""

import fnmatch
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

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


def proposed(ecosystem: str) -> dict[str, Any]:
    """Return what .github/dependabot.yml has of the packages of one kind."""
    updates = yaml.safe_load((REPO / ".github/dependabot.yml").read_text())["updates"]
    (found,) = [entry for entry in updates if entry["package-ecosystem"] == ecosystem]
    return dict(found)


def unknown(entry: dict[str, Any], names: set[str]) -> list[str]:
    """Return patterns of an entry that no package has."""
    patterns = [pattern for group in entry["groups"].values() for pattern in group["patterns"]]
    patterns += [ignored["dependency-name"] for ignored in entry["ignore"]]
    return [pattern for pattern in patterns if not fnmatch.filter(names, pattern.lower())]


def test_bot_of_dependencies_knows_what_is_pinned() -> None:
    python, pages = proposed("pip"), proposed("npm")
    assert (REPO / python["directory"].lstrip("/")) == HOST
    assert unknown(python, set(pins(HOST / "requirements.txt"))) == []
    package = json.loads((REPO / pages["directory"].lstrip("/") / "package.json").read_text())
    assert unknown(pages, {*package["dependencies"], *package["devDependencies"]}) == []
    assert unknown(python, {"ruff"}) != []


@pytest.mark.parametrize("name", ["requirements-docs", "requirements-fuzz"])
def test_what_few_need_is_locked_by_hash_too(name: str) -> None:
    chosen, locked = pins(HOST / f"{name}.txt"), pins(HOST / f"{name}.lock")
    assert chosen and chosen.items() <= locked.items()
    entries = re.split(r"\n(?=[A-Za-z])", (HOST / f"{name}.lock").read_text())
    assert [entry for entry in entries if PINNED.match(entry) and "--hash=sha256:" not in entry] == []
    # nobody pays for it who does not ask for it
    assert not chosen.keys() & pins(HOST / "requirements.lock").keys()
