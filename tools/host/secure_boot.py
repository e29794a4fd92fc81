# SPDX-License-Identifier: Apache-2.0
"""`tools/build --sign`: the built image for Secure Boot, with the owner's keys.

Signing is a step of its own. The build sees no key, and a signed image is the unsigned one and signatures: /usr and its
root hash are the same. The kernel image also gets what opens an encrypted root (`host.root_policy`). The time of a
signature is that of the image, so that the same keys give the same bytes.
"""

import os
import shutil
import struct
import subprocess
from pathlib import Path
from uuid import UUID

from host import artefacts, root_policy, tools_tree
from host.keys import AUTO, Keys
from millrace.system.errors import Failed
from vm.disks import keep

SIGNED = "signed"
SIGNING = ".signing"
SBSIGN = "lib/systemd/systemd-sbsign"
# Image, kernel and ESP are written, the rest is as the build left it.
CHANGED = (".raw", ".efi", ".esp.raw")
ENROLLED = "::/loader/keys/auto"
ESP = UUID("c12a7328-f81f-11d2-ba4b-00a0c93ec93b")
SECTOR = 512
SPACE = 3 << 30


def _sign_file(path: Path, keys: Keys, tools: Path, epoch: int) -> None:
    """Sign a PE file where it is, and verify the signature. A kernel image also gets what opens root."""
    certificate, new = keys.directory / "db.crt", path.with_name(f"{path.name}.new")
    data = path.read_bytes()
    if root_policy.is_kernel_image(data):
        path.write_bytes(root_policy.signed(data, keys, tools))
    argv = ["sign", f"--private-key={keys.directory / 'db.key'}", f"--certificate={certificate}", f"--output={new}"]
    tools_tree.run(tools, SBSIGN, *argv, str(path), epoch=epoch)
    tools_tree.run(tools, "bin/sbverify", "--cert", str(certificate), str(new))
    new.rename(path)


def _programs(esp: Path, tools: Path) -> list[str]:
    """Return the paths of what firmware or the boot loader starts, as mtools names them."""
    lines = tools_tree.run(tools, "bin/mdir", "-/", "-b", "-i", str(esp), "::/").splitlines()
    return sorted(line for line in lines if line.lower().endswith(".efi"))


def _put(esp: Path, source: Path, target: str, tools: Path, epoch: int) -> None:
    os.utime(source, (epoch, epoch))
    tools_tree.run(tools, "bin/mcopy", "-D", "o", "-m", "-i", str(esp), str(source), target, epoch=epoch)


def _sign_esp(esp: Path, keys: Keys, tools: Path, epoch: int) -> None:
    work = esp.with_name(".work.efi")
    for path in _programs(esp, tools):
        tools_tree.run(tools, "bin/mcopy", "-n", "-i", str(esp), path, str(work))
        _sign_file(work, keys, tools, epoch)
        _put(esp, work, path, tools, epoch)
        work.unlink()
    tools_tree.run(tools, "bin/mmd", "-D", "s", "-i", str(esp), ENROLLED, epoch=epoch)
    for name in AUTO:
        shutil.copyfile(keys.directory / name, work)
        _put(esp, work, f"{ENROLLED}/{name}", tools, epoch)
        work.unlink()


def esp_offset(image: Path) -> int:
    """Return where the ESP of a disk image begins, in bytes. Failed: it has no GPT, or no ESP in it."""
    with image.open("rb") as file:
        file.seek(SECTOR)
        header = file.read(92)
        if header[:8] != b"EFI PART":
            raise Failed(f"{image} has no GPT; run tools/build again.")
        first, count, size = struct.unpack_from("<QII", header, 72)
        file.seek(first * SECTOR)
        entries = file.read(count * size)
    for at in range(0, len(entries), size):
        if entries[at : at + 16] == ESP.bytes_le:
            return int(struct.unpack_from("<Q", entries, at + 32)[0]) * SECTOR
    raise Failed(f"{image} has no ESP; run tools/build again.")


def _replace(image: Path, offset: int, new: Path) -> None:
    """Write what is different in `new` into `image`, which keeps its holes."""
    with image.open("r+b") as target, new.open("rb") as source:
        target.seek(offset)
        while block := source.read(artefacts.BLOCK):
            if target.read(len(block)) != block:
                target.seek(-len(block), os.SEEK_CUR)
                target.write(block)


def sign(output: Path, name: str, keys: Keys, tools: Path, epoch: int) -> Path:
    """Sign the build in `output`; return the directory with the signed one, which is replaced whole or not at all.

    `epoch` is the image's, in seconds. Failed: a file is missing, there is no space, or a tool fails.
    """
    if missing := artefacts.missing(output, name):
        raise Failed(f"{output} has no {missing[0]}; run tools/build first.")
    artefacts.need_space(output, SPACE)
    new = output / SIGNING
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir()
    try:
        for suffix in artefacts.APPLIANCE:
            if suffix in CHANGED:
                argv = ["cp", "--sparse=always", "--reflink=auto", str(output / (name + suffix)), str(new)]
                subprocess.run(argv, check=True)
            else:
                keep(output / (name + suffix), new / (name + suffix))
        image, kernel, esp = (new / (name + suffix) for suffix in CHANGED)
        _sign_file(kernel, keys, tools, epoch)
        _sign_esp(esp, keys, tools, epoch)
        _replace(image, esp_offset(image), esp)
        artefacts.write_sums(new)
        artefacts.publish(new, output / SIGNED)
    finally:
        shutil.rmtree(new, ignore_errors=True)
    return output / SIGNED
