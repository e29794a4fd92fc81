# SPDX-License-Identifier: Apache-2.0
"""A build from a lock has the packages of the lock and is the same image, or the reason is named."""

from pathlib import Path
from typing import Any

import pytest

from host.layout import Caches
from host.locked import rebuild
from host.locked.trees import Installed, Tree
from millrace.system.errors import Failed
from tests.unit.host.test_model import DIGEST, lock

MDADM = Installed("mdadm", "4.6-3", "amd64")
SAME = {"root_hash": DIGEST, "image": DIGEST}
OTHER = "0" * 64


@pytest.mark.parametrize("owner", [None, "owner"])
def test_rebuilt_modules_are_those_of_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: str | None
) -> None:
    own = lock().debs[0].model_copy(update={"name": "millrace-modules", "file": "debs/millrace-modules_1_amd64.deb"})
    (tmp_path / "debs").mkdir()
    (tmp_path / own.file).write_text("rebuilt")
    monkeypatch.setattr(rebuild.signing, "signed", lambda deb, keys, place, epoch: place / "signed" / deb.name)
    cold = Caches(tmp_path / "cold")
    given: Any = (tmp_path, lock().model_copy(update={"debs": [own]}), cold, owner)
    place = cold.root / ("signed" if owner else "modules")
    assert rebuild.modules_of(*given) == place / "millrace-modules_1_amd64.deb"
    assert [path.read_text() for path in (cold.root / "modules").iterdir()] == ["rebuilt"]
    assert rebuild.modules_of(tmp_path, lock(), cold, None) is None


def built(*packages: Installed) -> dict[Tree, set[Installed]]:
    return {"image": set(packages), "initrd": set(), "tools": set()}


def test_same_packages() -> None:
    assert rebuild.differences(lock(), built(MDADM)) == ""


@pytest.mark.parametrize(
    ("packages", "named"),
    [
        ((), "mdadm 4.6-3 is missing in the image"),
        ((MDADM, Installed("nano", "9", "amd64")), "nano 9 is not in the lock of the image"),
    ],
)
def test_package_too_few_or_too_many_is_named(packages: tuple[Installed, ...], named: str) -> None:
    assert rebuild.differences(lock(), built(*packages)) == named


def test_same_tree_gives_the_same_image() -> None:
    assert "of 2026-11-23 again, bit for bit" in rebuild.compared(lock(), DIGEST, "millrace_1_x86-64", SAME)


@pytest.mark.parametrize(
    ("made", "named"), [({"root_hash": OTHER}, "root hash of /usr is 0000"), ({"image": OTHER}, "the image differs")]
)
def test_same_tree_with_another_image_is_an_error(made: dict[str, str], named: str) -> None:
    with pytest.raises(Failed, match=f"(?i){named}"):
        rebuild.compared(lock(), DIGEST, "millrace_1_x86-64", SAME | made)


def test_another_tree_is_named_as_such() -> None:
    said = rebuild.compared(lock(), OTHER, "millrace_1_x86-64", {"root_hash": OTHER, "image": OTHER})
    assert "from another tree" in said
