# SPDX-License-Identifier: Apache-2.0
"""A drive is asked how it can erase itself, and not believed where that would erase another one."""

from pathlib import Path

import pytest

from millrace.inventory.erase_support import OACS_FORMAT, SANICAP_CRYPTO, EraseSupport, erase_support
from millrace.system.run import Result
from tests.fakes.drives.erasable import ABLE, NONE, Abilities, ErasableDrive

DEVICE = Path("/dev/nvme0n1")


@pytest.mark.parametrize(
    ("controller", "methods"),
    [
        (ABLE, ("sanitize-block", "sanitize-crypto", "format", "format-crypto")),
        (NONE, ()),
        ({**NONE, "sanicap": SANICAP_CRYPTO}, ("sanitize-crypto",)),
        ({**NONE, "oacs": OACS_FORMAT}, ("format",)),
        # crypto erase is a kind of format
        ({**ABLE, "oacs": 0, "sanicap": 0}, ()),
        ({}, ()),
    ],
)
def test_methods_are_those_that_the_drive_offers(controller: dict[str, int], methods: tuple[str, ...]) -> None:
    drive = ErasableDrive(DEVICE, Abilities(controller))
    assert erase_support(DEVICE, drive) == EraseSupport(methods, 1)  # type: ignore[arg-type]


@pytest.mark.parametrize("namespaces", [0, 2])
def test_drive_with_other_namespaces_does_not_erase_itself(namespaces: int) -> None:
    assert erase_support(DEVICE, ErasableDrive(DEVICE, Abilities(namespaces=namespaces))) == EraseSupport()


def test_drive_that_does_not_answer_offers_nothing() -> None:
    drive = ErasableDrive(DEVICE, Abilities())
    for question in ("id-ctrl", "id-ns", "list-ns"):
        drive.broken = {f"nvme {question}": Result(1, "", "no answer\n")}
        assert erase_support(DEVICE, drive).methods == ()
