# SPDX-License-Identifier: Apache-2.0
"""A kernel image is signed with every key that a root may be bound to, over exactly what the stub measures."""

import json
from pathlib import Path

import pytest

from host import keys, root_policy, tools_tree
from millrace.system.errors import Failed
from tests.unit.vm.test_pe import image
from vm import pe

PARTS = {".text": b"stub", ".sbat": b"sbat", ".sdmagic": b"magic", ".osrel": b"osrel", ".cmdline": b"usrhash=1"}
KERNEL = PARTS | {".uname": b"7.2", ".linux": b"kernel", ".initrd": b"initrd", ".ucode": b"microcode"}


class Measure:
    """systemd-measure: it prints what it was given, in the place of values of a register."""

    def __init__(self) -> None:
        self.seen: list[dict[str, bytes]] = []

    def run(self, tools: Path, program: str, *arguments: str, epoch: int | None = None) -> str:
        assert (str(tools), program, arguments[0]) == ("/tools", root_policy.MEASURE, "sign")
        options = dict(option.removeprefix("--").split("=", 1) for option in arguments[1:])
        assert options.pop("bank") == "sha256" and options.pop("json") == "short"
        # later phases run what is on the boot drive, which somebody else may have put there
        assert options.pop("phase") == "enter-initrd"
        before = json.loads(Path(options.pop("append")).read_text()) if "append" in options else []
        signer = Path(options.pop("private-key"))
        assert options.pop("public-key") == str(signer.with_name("pcr.pub"))
        self.seen.append({name: Path(path).read_bytes() for name, path in options.items()})
        return json.dumps([*before, signer.read_text()])


@pytest.fixture
def measure(monkeypatch: pytest.MonkeyPatch) -> Measure:
    found = Measure()
    monkeypatch.setattr(tools_tree, "run", found.run)
    return found


@pytest.fixture
def owner(tmp_path: Path) -> keys.Keys:
    for place in (".", "next", "old/1", "old/2"):
        (tmp_path / place).mkdir(parents=True, exist_ok=True)
        (tmp_path / place / keys.PCR).write_text(place)
        (tmp_path / place / keys.PCR_PUBLIC).write_text(f"public {place}")
    return keys.Keys(tmp_path)


def test_all_that_the_stub_measures_is_signed_with_each_key(owner: keys.Keys, measure: Measure) -> None:
    made = dict(pe.sections(root_policy.signed(image(KERNEL), owner, Path("/tools"))))
    assert json.loads(made[root_policy.SIGNATURE]) == [".", "next", "old/2", "old/1"]
    assert made[root_policy.KEY] == b"public ."
    named = ("sbat", "osrel", "cmdline", "uname", "linux", "initrd", "ucode")
    wanted = {name: KERNEL[f".{name}"] for name in named} | {"pcrpkey": b"public ."}
    assert measure.seen == [wanted] * 4
    assert {name: made[name] for name in KERNEL} == KERNEL


def test_a_loader_is_no_kernel_image() -> None:
    assert not root_policy.is_kernel_image(image(PARTS))
    assert root_policy.is_kernel_image(image(KERNEL))


def with_profiles(*more: tuple[str, bytes]) -> bytes:
    """A kernel image with a first profile that adds nothing, and what follows."""
    return image([*KERNEL.items(), (".profile", b"ID=main"), *more])


def test_first_profile_is_what_is_signed(owner: keys.Keys, measure: Measure) -> None:
    install = ((".profile", b"ID=install"), (".cmdline", b"usrhash=1 millrace.install"))
    made = pe.sections(root_policy.signed(with_profiles(*install), owner, Path("/tools")))
    assert (measure.seen[0]["profile"], measure.seen[0]["cmdline"]) == (b"ID=main", b"usrhash=1")
    # the stub takes what is in front of the first profile for all of them
    assert [name for name, _ in made][-5:] == [".pcrpkey", ".pcrsig", ".profile", ".profile", ".cmdline"]
    assert made[-2:] == [(name, text) for name, text in install]


def test_first_profile_with_sections_of_its_own_is_refused(owner: keys.Keys, measure: Measure) -> None:
    with pytest.raises(Failed, match="first profile has sections of its own"):
        root_policy.signed(with_profiles((".cmdline", b"usrhash=2")), owner, Path("/tools"))
    assert measure.seen == []
