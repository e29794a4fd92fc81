# SPDX-License-Identifier: Apache-2.0
"""A build from a lock has the packages of the lock and is the same image, or the reason is named."""

import pytest

from host.locked import rebuild
from host.locked.trees import Installed, Tree
from millrace.errors import Failed
from tests.unit.host.test_model import DIGEST, lock

MDADM = Installed("mdadm", "4.6-3", "amd64")
SAME = {"root_hash": DIGEST, "image": DIGEST}
OTHER = "0" * 64


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
