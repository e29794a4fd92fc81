# SPDX-License-Identifier: Apache-2.0
"""A signed build replaces the one before whole or not at all, and the build itself stays as it is."""

import shutil
import struct
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from host import artefacts, keys, root_policy, secure_boot, tools_tree
from millrace.system.errors import Failed
from tests.unit.vm.test_pe import image
from vm import pe

NAME = "millrace_1_x86-64"
MIB = 1 << 20
KERNEL = image({".text": b"stub", ".linux": b"kernel"})
ESP_AT, ESP_SIZE = 2 * MIB, MIB


@dataclass
class Tools:
    """The programs of the tools tree, as far as signing uses them; the ESP is a file with lines."""

    tools: Path
    fail: str = ""
    ran: list[str] = field(default_factory=list)

    def run(self, tools: Path, program: str, *arguments: str, epoch: int | None = None) -> str:
        name = Path(program).name
        assert tools == self.tools
        self.ran.append(name)
        if name == self.fail:
            raise Failed(f"{name} failed: no reason")
        return str(getattr(self, f"_{name.replace('-', '_')}")(epoch, *arguments) or "")

    def _systemd_sbsign(self, epoch: int | None, verb: str, key: str, certificate: str, out: str, source: str) -> None:
        assert (verb, epoch) == ("sign", 7) and key.endswith("/db.key") and certificate.endswith("/db.crt")
        Path(out.removeprefix("--output=")).write_bytes(Path(source).read_bytes() + b" signed")

    def _sbverify(self, epoch: int | None, flag: str, certificate: str, file: str) -> None:
        assert flag == "--cert" and Path(file).read_bytes().endswith(b" signed")

    def _systemd_measure(self, epoch: int | None, verb: str, *options: str) -> str:
        assert verb == "sign"
        return "signatures"

    def _mdir(self, epoch: int | None, *words: str) -> str:
        assert words[:3] == ("-/", "-b", "-i")
        return "::/EFI/\n::/EFI/BOOT/BOOTX64.EFI\n::/loader/loader.conf\n"

    def _mmd(self, epoch: int | None, *words: str) -> None:
        assert words[:3] == ("-D", "s", "-i") and words[-1] == secure_boot.ENROLLED

    def _mcopy(self, epoch: int | None, *words: str) -> None:
        if words[0] == "-n":
            shutil.copyfile(words[2], words[4])
            Path(words[4]).write_bytes(image({".text": b"loader"}))
            return
        assert words[:4] == ("-D", "o", "-m", "-i") and Path(words[5]).stat().st_mtime == 7
        with Path(words[4]).open("r+b") as esp:
            esp.write(f"{words[6]} ".encode() + Path(words[5]).read_bytes()[:32])


@pytest.fixture
def owner(tmp_path: Path) -> keys.Keys:
    (tmp_path / "keys").mkdir()
    for name in (*keys.AUTO, keys.PCR, keys.PCR_PUBLIC):
        (tmp_path / "keys" / name).write_text(name)
    return keys.Keys(tmp_path / "keys")


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tools:
    found = Tools(tmp_path / "tools")
    monkeypatch.setattr(tools_tree, "run", found.run)
    monkeypatch.setattr(secure_boot, "SPACE", 1)
    return found


@pytest.fixture
def output(tmp_path: Path) -> Path:
    path = tmp_path / "output"
    path.mkdir()
    for suffix in artefacts.APPLIANCE:
        (path / (NAME + suffix)).write_text(suffix)
    (path / f"{NAME}.efi").write_bytes(KERNEL)
    esp = b"unsigned".ljust(ESP_SIZE, b"\0")
    entry = secure_boot.ESP.bytes_le + bytes(16) + struct.pack("<QQ", ESP_AT // 512, 0) + bytes(80)
    header = b"EFI PART" + bytes(64) + struct.pack("<QII", 2, 1, len(entry)) + bytes(4)
    head = (bytes(512) + header.ljust(512, b"\0") + entry).ljust(ESP_AT, b"\0")
    (path / f"{NAME}.raw").write_bytes(head + esp + b"usr")
    (path / f"{NAME}.esp.raw").write_bytes(esp)
    return path


def content(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir() if path.is_file()}


def test_image_has_the_signed_esp_and_the_build_stays(output: Path, owner: keys.Keys, tools: Tools) -> None:
    before = content(output)
    signed = secure_boot.sign(output, NAME, owner, tools.tools, 7)
    assert content(output) == before
    esp = (signed / f"{NAME}.esp.raw").read_bytes()
    image = (signed / f"{NAME}.raw").read_bytes()
    assert image == before[f"{NAME}.raw"][:ESP_AT] + esp + b"usr"
    assert esp.startswith(f"{secure_boot.ENROLLED}/db.auth db.auth".encode())
    root = {root_policy.KEY: keys.PCR_PUBLIC.encode(), root_policy.SIGNATURE: b"signatures"}
    assert (signed / f"{NAME}.efi").read_bytes() == pe.with_sections(KERNEL, root) + b" signed"
    listed = [line.split()[1] for line in (signed / artefacts.SUMS).read_text().splitlines()]
    assert listed == sorted(NAME + suffix for suffix in artefacts.APPLIANCE)


@pytest.mark.parametrize("program", ["systemd-measure", "systemd-sbsign", "sbverify", "mdir", "mcopy", "mmd"])
def test_a_tool_that_fails_leaves_the_signed_build_of_before(
    output: Path, owner: keys.Keys, tools: Tools, program: str
) -> None:
    before = content(secure_boot.sign(output, NAME, owner, tools.tools, 7))
    tools.fail = program
    with pytest.raises(Failed, match=program):
        secure_boot.sign(output, NAME, owner, tools.tools, 7)
    assert content(output / secure_boot.SIGNED) == before
    assert not (output / secure_boot.SIGNING).exists()


def test_an_incomplete_build_is_not_signed(output: Path, owner: keys.Keys, tools: Tools) -> None:
    (output / f"{NAME}.roothash").unlink()
    with pytest.raises(Failed, match=r"has no millrace_1_x86-64\.roothash; run tools/build first"):
        secure_boot.sign(output, NAME, owner, tools.tools, 7)
    assert tools.ran == []


@pytest.mark.parametrize(("data", "words"), [(b"", "no GPT"), (bytes(4096), "no GPT")])
def test_image_without_a_partition_table_is_one_sentence(tmp_path: Path, data: bytes, words: str) -> None:
    (tmp_path / "image").write_bytes(data)
    with pytest.raises(Failed, match=words):
        secure_boot.esp_offset(tmp_path / "image")
