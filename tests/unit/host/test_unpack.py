# SPDX-License-Identifier: Apache-2.0
"""Hostile captures are refused: overwriting files, leaving the directory, filling the disk."""

import io
import os
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from host.captures import unpack
from host.captures.replay import inventory_of
from host.inventory import main
from millrace.system.errors import BadInput
from millrace.system.run import attempt, must

pytestmark = pytest.mark.skipif(not shutil.which("zstd"), reason="needs zstd")
Member = tuple[str, bytes, str | bytes]
FILE, LINK = tarfile.REGTYPE, tarfile.SYMTYPE
MANIFEST: Member = ("capture.json", FILE, b"{}")


def archive(path: Path, members: list[Member]) -> Path:
    """A capture of these members: name, type, and content or where the link leads."""
    packed = path.with_suffix(".tar")
    with tarfile.open(packed, "w", format=tarfile.PAX_FORMAT) as out:
        for name, kind, what in members:
            member = tarfile.TarInfo(name)
            member.type = kind
            if isinstance(what, str):
                member.linkname = what
            else:
                member.size = len(what)
            out.addfile(member, io.BytesIO(what if isinstance(what, bytes) else b""))
    must(attempt, ["zstd", "-q", "--rm", str(packed), "-o", str(path)])
    return path


@pytest.fixture
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where everything is unpacked; below it lies what must stay as it is."""
    where = tmp_path / "tmp"
    (where / "target").mkdir(parents=True)
    (where / "victim").write_text("mine")
    monkeypatch.setattr("tempfile.tempdir", str(where))
    return where


def refusal(place: Path) -> str:
    """What `tools/inventory` says of a capture that it does not read."""
    with pytest.raises(BadInput) as refused:
        main([str(place)])
    return str(refused.value)


HOSTILE: dict[str, tuple[list[Member], str]] = {
    "up": ([("../evil", FILE, b"x")], "../evil would be outside of the capture"),
    "absolute": ([("/evil", FILE, b"x")], "/evil would be outside of the capture"),
    "up and down": ([("a/../../b", FILE, b"x")], "a/../../b would be outside of the capture"),
    "a link up": ([("sys/up", LINK, "../../etc"), MANIFEST], "the link sys/up leads out of the capture"),
    "a link to /": ([("sys/abs", LINK, "/etc"), MANIFEST], "the link sys/abs leads out of the capture"),
    "a link to itself": ([("sys/loop", LINK, "loop"), MANIFEST], "the link sys/loop leads to itself"),
    "links to each other": ([("a", LINK, "b"), ("b", LINK, "a"), MANIFEST], "leads to itself"),
    "links below links": (
        [("a/b/h", LINK, "../../z"), ("a/b/h/t", LINK, "../../../target"), ("z/t/x", FILE, b"x")],
        "a/b/h/t is below a link",
    ),
    "a file below a link": ([("d", LINK, "e"), ("d/x", FILE, b"x")], "d/x is below a link"),
    "a link above a file": ([("d/x", FILE, b"x"), ("d", LINK, "../target")], "d is in it twice"),
    "through two links": (
        [("d/e/here", FILE, b""), ("l", LINK, "d/e"), ("m", LINK, "l/../../.."), MANIFEST],
        "the link m leads out of the capture",
    ),
    "a file below a file": ([("d", FILE, b""), ("d/x", FILE, b"x")], "d/x is below a file"),
    "twice": ([("x", FILE, b"1"), ("x", FILE, b"2")], "x is in it twice"),
    "twice in other words": ([("x", FILE, b"1"), ("./x", LINK, "y")], "./x is in it twice"),
    "a device": ([("dev/sda", tarfile.BLKTYPE, b"")], "dev/sda is neither file nor directory nor link"),
    "a console": ([("dev/tty", tarfile.CHRTYPE, b"")], "dev/tty is neither file nor directory nor link"),
    "a pipe": ([("pipe", tarfile.FIFOTYPE, b"")], "pipe is neither file nor directory nor link"),
    "a hard link": ([("l", tarfile.LNKTYPE, "/etc/shadow")], "l is neither file nor directory nor link"),
    "a large file": ([("x", FILE, bytes(5000))], "x is larger than 0 MiB, no file of a capture is"),
    "many files": ([(f"f{n}", FILE, b"") for n in range(60)], "it has more than 50 files, a capture does not"),
    "much": ([(f"f{n}", FILE, bytes(4000)) for n in range(40)], "it unpacks to more than 0 MiB, a capture does not"),
    "a long name": ([("n" * 300, FILE, b"")], "cannot be unpacked: File name too long"),
    "a name that ends early": ([("a", FILE, b""), ("a\0b", FILE, b"")], "a is in it twice"),
    "empty": ([], "capture.json is missing"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_it_is_one_sentence_and_nothing_is_made(
    name: str, outside: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for limit, value in (("MEMBERS", 50), ("TOTAL", 100_000), ("LARGEST", 4096)):
        monkeypatch.setattr(unpack, limit, value)
    members, sentence = HOSTILE[name]
    file = archive(tmp_path / "evil.tar.zst", members)
    said = refusal(file)
    assert sentence in said
    assert len(said.splitlines()) == 1 and len(said) < 400
    assert sorted(os.listdir(outside)) == ["target", "victim"]
    assert os.listdir(outside / "target") == [] and (outside / "victim").read_text() == "mine"


def test_no_link_is_followed_while_files_are_written(outside: Path) -> None:
    """Even where a name got past what is decided beforehand."""
    (outside / "link").symlink_to(outside / "victim")
    with pytest.raises(OSError, match="File exists"):
        unpack._write(outside / "link", io.BytesIO(b"x"))
    assert (outside / "victim").read_text() == "mine"


def test_a_bomb_is_stopped_before_it_fills_the_disk(outside: Path, tmp_path: Path) -> None:
    file = tmp_path / "bomb.tar.zst"
    # zeros are the end of an archive; what comes then is read all the same, to see whether it is whole
    zeros = subprocess.Popen(["head", "-c", "300M", "/dev/zero"], stdout=subprocess.PIPE)
    with file.open("wb") as out:
        subprocess.run(["zstd", "-q", "-1"], stdin=zeros.stdout, stdout=out, check=True)
    zeros.wait()
    assert file.stat().st_size < 1 << 20
    with pytest.raises(BadInput, match="it unpacks to more than 256 MiB, a capture does not"):
        inventory_of(file)
    assert sorted(os.listdir(outside)) == ["target", "victim"]


def spoilt(change: Callable[[Path], None]) -> Callable[[Path], Path]:
    def make(path: Path) -> Path:
        path.mkdir()
        (path / "capture.json").write_text('{"made_by": "x", "files": {}}')
        change(path)
        return path

    return make


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (spoilt(lambda path: (path / "out").symlink_to("/etc")), "the link out leads out of the capture"),
        (spoilt(lambda path: os.mkfifo(path / "pipe")), "pipe is neither file nor directory nor link"),
        (
            spoilt(
                lambda path: (path / "capture.json").write_text('{"made_by": "x", "files": {"../x": "0"}}') and None
            ),
            "names ../x, which is outside of the capture",
        ),
    ],
)
def test_directory_is_checked_like_an_archive(make: Callable[[Path], Path], sentence: str, tmp_path: Path) -> None:
    said = refusal(make(tmp_path / "capture"))
    assert sentence in said and len(said.splitlines()) == 1


def test_what_is_no_archive_is_one_sentence(tmp_path: Path) -> None:
    file = tmp_path / "x.tar.zst"
    for content in (b"", b"not zstd at all", b"\x28\xb5\x2f\xfd" + b"\xff" * 100):
        file.write_bytes(content)
        said = refusal(file)
        assert "incomplete" in said and len(said.splitlines()) == 1
