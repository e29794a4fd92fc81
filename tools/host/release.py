# SPDX-License-Identifier: Apache-2.0
"""`tools/build --release`: what servers in the field update from, signed with the owner's key.

A directory for a web server, and the same files in one archive for the page and for a stick.
"""

import shutil
import tarfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from host import artefacts, keys, notes, pgp, secure_boot, tools_tree
from millrace.lifecycle.update import layout
from millrace.lifecycle.update.model import Kind, Release, ReleaseFile
from millrace.system.errors import BadInput, Failed
from millrace.system.files import write_bytes

RELEASING = ".releasing"
# From the time of the commit: servers warn where a release is offered as the newest after it.
VALIDITY = timedelta(days=180)
# 2 GiB of /usr are 0.5 GB so, in a minute on two cores; 19 takes ten times as long for a twentieth less.
LEVEL = "-9"
# Any number of threads gives the same bytes, but none of its own gives others.
THREADS = "-T2"
SUFFIXES: dict[Kind, str] = {"usr": ".usr-x86-64.raw", "usr-verity": ".usr-x86-64-verity.raw"}


def archive_name(version: str) -> str:
    """Return the name of a release in one file."""
    return f"{layout.IMAGE}_{version}.tar"


def write(output: Path, owner: keys.Keys, tools: Path, version: str, news: Path, directory: Path, epoch: int) -> Path:
    """Write the release of the image in `output` to `directory`, which is empty or not there yet; return its archive.

    A signed kernel image is taken where there is one. The same image and keys give the same files but for the
    signatures. The checksums in `output` are signed, too, for a first installation. BadInput: `directory` has files, or
    NEWS.md has no section for the version. Failed: a tool fails.
    """
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise BadInput(f"{directory} exists and has files; name a new directory.")
    name = f"{layout.IMAGE}_{version}_x86-64"
    roothash = (output / f"{name}.roothash").read_text().strip()
    new = directory.with_name(f".{directory.name}{RELEASING}")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    try:
        for kind, suffix in SUFFIXES.items():
            packed = new / layout.file_name(kind, version, roothash)
            tools_tree.run(tools, "bin/zstd", "-q", THREADS, LEVEL, str(output / f"{name}{suffix}"), "-o", str(packed))
        signed = output / secure_boot.SIGNED / f"{name}.efi"
        kernel = signed if signed.is_file() else output / f"{name}.efi"
        shutil.copyfile(kernel, new / layout.file_name("kernel", version, roothash))
        text = f"# Millrace\n\n## {version}\n\n{notes.news(news.read_text(), version)}\n"
        (new / layout.NEWS).write_text(text)
        _describe(new, version, roothash, datetime.fromtimestamp(epoch, UTC) + VALIDITY)
        artefacts.write_sums(new)
        _sign(new, owner)
        archive = new / archive_name(version)
        _pack(new, archive, epoch)
        for place in (output, output / secure_boot.SIGNED):
            if (place / layout.SUMS).is_file():
                _sign(place, owner)
        new.rename(directory)
    finally:
        shutil.rmtree(new, ignore_errors=True)
    return directory / archive.name


def _describe(directory: Path, version: str, roothash: str, expires: datetime) -> None:
    kinds: tuple[Kind, ...] = ("usr-verity", "usr", "kernel", "news")
    names = [(kind, layout.file_name(kind, version, roothash)) for kind in kinds]
    files = [ReleaseFile(kind=kind, name=name, size=(directory / name).stat().st_size) for kind, name in names]
    for one in files:
        if one.size > layout.LARGEST[one.kind]:
            raise Failed(f"{one.name} has {one.size} bytes, more than the slot of installed servers.")
    until = expires.isoformat(timespec="seconds")
    release = Release(image=layout.IMAGE, version=version, files=files, expires=until)
    write_bytes(directory / layout.RELEASE, (release.model_dump_json(indent=2) + "\n").encode())


def _sign(directory: Path, owner: keys.Keys) -> None:
    """Sign the checksums in a directory."""
    sums = directory / layout.SUMS
    write_bytes(directory / layout.SIGNATURE, pgp.signature(owner.directory / keys.UPDATE, sums))


def _pack(directory: Path, archive: Path, epoch: int) -> None:
    """What is verified first comes first, so that a server need not look through it for that."""
    first = (layout.SUMS, layout.SIGNATURE, layout.RELEASE, layout.NEWS)
    rest = sorted(path.name for path in directory.iterdir() if path.name not in first)

    def plain(found: tarfile.TarInfo) -> tarfile.TarInfo:
        found.uid = found.gid = 0
        found.uname = found.gname = "root"
        found.mode, found.mtime = 0o644, epoch
        return found

    with tarfile.open(archive, "x", format=tarfile.PAX_FORMAT) as file:
        for name in (*first, *rest):
            file.add(directory / name, name, filter=plain)
