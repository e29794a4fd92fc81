# SPDX-License-Identifier: Apache-2.0
"""A signed image is the built one and signatures, and what is signed leads to one /usr."""

import lzma
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from host import artefacts, compare, keys, layout, root_policy, secure_boot, stage, tools_tree
from millrace.system.errors import Failed
from vm import pe
from vm.disks import keep

NAME = artefacts.image_name(layout.REPO)
TOOLS = layout.caches().stages / "image" / "mkosi.tools"
# What signing adds to a kernel image beside its signature.
ROOT = (root_policy.KEY, root_policy.SIGNATURE)
EPOCH = stage.epoch(layout.REPO)
# Some of the modules without which nothing is served.
MODULES = ("xfs", "raid456", "nfsd", "nvme", "dm-verity", "erofs", "nf_tables")


@dataclass
class Signed:
    """A signed build, its owner's keys, and what is on its ESP and on that of the unsigned one."""

    build: Path
    signed: Path
    owner: keys.Keys
    esp: Path
    unsigned_esp: Path


@pytest.fixture(scope="module")
def made(output: Path, tmp_path_factory: pytest.TempPathFactory) -> Signed:
    directory = tmp_path_factory.mktemp("signed")
    build = directory / "build"
    build.mkdir()
    for suffix in artefacts.APPLIANCE:
        keep(output / (NAME + suffix), build / (NAME + suffix))
    owner = keys.make(directory / "keys", datetime.now(UTC))
    signed = secure_boot.sign(build, NAME, owner, TOOLS, EPOCH)
    for source, name in ((build, "before"), (signed, "after")):
        compare.extract_fat(source / f"{NAME}.esp.raw", directory / name, TOOLS)
    return Signed(build, signed, owner, directory / "after", directory / "before")


def programs(esp: Path) -> list[str]:
    return sorted(str(path.relative_to(esp)) for path in esp.rglob("*") if path.suffix.lower() == ".efi")


def equal(*arguments: object) -> bool:
    return subprocess.run(["cmp", "--quiet", *map(str, arguments)], check=False).returncode == 0


def test_all_that_firmware_starts_is_signed_with_the_owners_key(made: Signed) -> None:
    found = programs(made.esp)
    assert Path(found[0]).name == "BOOTX64.EFI" and len(found) == 3
    for path in [*(made.esp / name for name in found), made.signed / f"{NAME}.efi"]:
        tools_tree.run(TOOLS, "bin/sbverify", "--cert", str(made.owner.directory / "db.crt"), str(path))


def test_an_altered_kernel_image_has_no_valid_signature(made: Signed, tmp_path: Path) -> None:
    data = bytearray((made.signed / f"{NAME}.efi").read_bytes())
    at = data.index(pe.section(made.signed / f"{NAME}.efi", ".cmdline"))
    data[at] ^= 1
    (tmp_path / "altered.efi").write_bytes(data)
    argv = ("--cert", str(made.owner.directory / "db.crt"), str(tmp_path / "altered.efi"))
    with pytest.raises(Failed, match="sbverify"):
        tools_tree.run(TOOLS, "bin/sbverify", *argv)


def test_the_signed_command_line_names_the_root_hash_of_usr(made: Signed) -> None:
    (kernel,) = (made.esp / "EFI/Linux").iterdir()
    words = pe.section(kernel, ".cmdline").decode().rstrip("\0").split()
    assert f"usrhash={(made.signed / f'{NAME}.roothash').read_text().strip()}" in words
    # verity refuses what is not of this hash, whatever the partition table says
    assert equal(made.build / f"{NAME}.usr-x86-64.raw", made.signed / f"{NAME}.usr-x86-64.raw")


def test_signatures_taken_away_the_unsigned_build_is_left(made: Signed) -> None:
    assert programs(made.esp) == programs(made.unsigned_esp)
    for name in programs(made.esp):
        before, after = ((esp / name).read_bytes() for esp in (made.unsigned_esp, made.esp))
        added = {section: text for section, text in pe.sections(after) if section in ROOT}
        assert bool(added) == root_policy.is_kernel_image(before), name
        left = pe.with_sections(before, added, before=root_policy.PROFILE)
        assert before != after and left == pe.unsigned(after), name
    others = [line for line in compare.trees(made.unsigned_esp, made.esp) if ".efi" not in line.lower()]
    assert [line.split()[0] for line in others if "only in the second" in line] == [
        "loader/keys/auto",
        *sorted(f"loader/keys/auto/{name}" for name in keys.AUTO),
    ]
    assert not [line for line in others if "only in the first" in line or "content" in line]


def test_the_image_has_the_signed_esp_in_its_place_and_nothing_else_changed(made: Signed) -> None:
    image, before = made.signed / f"{NAME}.raw", made.build / f"{NAME}.raw"
    offset, esp = secure_boot.esp_offset(image), made.signed / f"{NAME}.esp.raw"
    size = esp.stat().st_size
    assert equal(f"--bytes={size}", f"--ignore-initial={offset}:0", image, esp)
    assert equal(f"--bytes={offset}", image, before)
    assert equal(f"--ignore-initial={offset + size}", image, before)


def test_the_same_keys_give_the_same_bytes(made: Signed) -> None:
    before = (made.signed / artefacts.SUMS).read_text()
    assert (secure_boot.sign(made.build, NAME, made.owner, TOOLS, EPOCH) / artefacts.SUMS).read_text() == before


def test_the_boot_menu_takes_no_command_line(made: Signed) -> None:
    for esp in (made.esp, made.unsigned_esp):
        assert "editor no" in (esp / "loader/loader.conf").read_text().splitlines()


def test_the_kernel_locks_itself_down_and_has_signed_modules(tree: Path) -> None:
    (modules,) = (tree / "usr/lib/modules").iterdir()
    assert "CONFIG_LOCK_DOWN_IN_EFI_SECURE_BOOT=y" in (modules / "config").read_text().splitlines()
    for name in MODULES:
        (file,) = modules.glob(f"kernel/**/{name}.ko.xz")
        assert lzma.decompress(file.read_bytes()).endswith(b"~Module signature appended~\n"), name
