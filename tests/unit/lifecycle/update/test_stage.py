# SPDX-License-Identifier: Apache-2.0
"""Nothing of a release is used before its signature and its checksums are verified, wherever it comes from."""

import os
import tarfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from millrace.lifecycle.update import layout, records, release, stage, update_paths
from millrace.lifecycle.update.model import Fetch, Release
from millrace.system.documents import read_model
from millrace.system.errors import BadInput, Failed, Refused
from millrace.system.run import Result
from tests.unit.lifecycle.update.conftest import ROOTHASH, Server, make_release, sign


def staged(server: Server, path: Path | None) -> Release:
    with stage.origin(path, server) as bring:
        found = stage.describe(bring, server)
        stage.fetch_files(found, bring, server)
    assert release.staged(server) == found
    return found


def packed(directory: Path) -> Path:
    archive = directory.with_suffix(".tar")
    with tarfile.open(archive, "w") as file:
        file.add(directory, ".")
    return archive


def test_directory_and_archive_are_staged_whole(server: Server, tmp_path: Path) -> None:
    made = make_release(tmp_path / "new")
    for path in (made, packed(made)):
        assert staged(server, path).version == "0.2.0"
        assert {one.name for one in update_paths.staged_dir().iterdir()} == {one.name for one in made.iterdir()}
        assert "Faster." in stage.news(staged(server, path))


def test_download_goes_through_a_process_without_rights(server: Server, tmp_path: Path) -> None:
    made = make_release(tmp_path / "new")
    records.save_source("https://files.example/millrace/")
    wanted = []

    def fetch() -> None:
        asked = read_model(update_paths.fetch_file(), Fetch)
        wanted.append((asked.url, asked.limit))
        update_paths.incoming_file().write_bytes((made / asked.url.rpartition("/")[2]).read_bytes())

    server.before[f"systemctl start {stage.FETCHER}"] = fetch
    assert staged(server, None).version == "0.2.0"
    assert wanted[0] == ("https://files.example/millrace/SHA256SUMS", layout.SMALL)
    usr = layout.file_name("usr", "0.2.0", ROOTHASH)
    assert (f"https://files.example/millrace/{usr}", 297) in wanted
    assert not update_paths.fetch_file().exists() and not update_paths.incoming_file().exists()


def test_what_the_download_said_is_the_sentence(server: Server) -> None:
    records.save_source("https://files.example/millrace")
    server.file("run/millrace/update/fetch.err", "millrace: files.example does not have it: 404 Not Found\n")
    server.broken[f"systemctl start {stage.FETCHER}"] = Result(1, "", "")
    with pytest.raises(Failed, match=r"^files\.example does not have it: 404"):
        staged(server, None)


def test_kernel_image_without_room_is_refused_before_it_is_brought(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its place is that of other versions, never that of the one that runs."""
    made = make_release(tmp_path / "new")
    kernel = len(b"kernel" * 9)

    def statvfs(path: Path) -> SimpleNamespace:
        return SimpleNamespace(f_bavail=kernel - 1 if "boot" in path.parts else 1 << 40, f_frsize=1)

    monkeypatch.setattr(os, "statvfs", statvfs)
    with pytest.raises(Refused, match=r"^the boot partition has 53 B free, the kernel image needs 54 B; remove from "):
        staged(server, made)
    assert not (update_paths.staged_dir() / layout.file_name("kernel", "0.2.0", ROOTHASH)).exists()
    server.entry("millrace_0.0.9.efi")
    assert staged(server, made).version == "0.2.0"


def test_without_a_source_the_command_for_one_is_named(server: Server) -> None:
    with pytest.raises(Refused, match="millrace update source URL"):
        staged(server, None)


def cut(made: Path) -> None:
    usr = made / layout.file_name("usr", "0.2.0", ROOTHASH)
    usr.write_bytes(usr.read_bytes()[:-1])


def larger(made: Path) -> None:
    usr = made / layout.file_name("usr", "0.2.0", ROOTHASH)
    usr.write_bytes(usr.read_bytes() + b"!")


def altered(made: Path) -> None:
    usr = made / layout.file_name("usr", "0.2.0", ROOTHASH)
    usr.write_bytes(usr.read_bytes()[:-1] + b"!")


def other_sums(made: Path) -> None:
    altered(made)
    text = (made / layout.SIGNATURE).read_text()
    sign(made)
    (made / layout.SIGNATURE).write_text(text)


def missing(made: Path) -> None:
    (made / layout.file_name("kernel", "0.2.0", ROOTHASH)).unlink()


def other_image(made: Path) -> None:
    path = made / layout.RELEASE
    path.write_text(path.read_text().replace('"image":"millrace"', '"image":"other"'))
    sign(made)


def other_place(made: Path) -> None:
    path = made / layout.RELEASE
    path.write_text(path.read_text().replace("millrace_0.2.0.efi", "../../millrace_0.2.0.efi"))
    sign(made)


def later_kind(made: Path) -> None:
    path = made / layout.RELEASE
    path.write_text(path.read_text().replace('"schema_version":1', '"schema_version":2'))
    sign(made)


def no_signature(made: Path) -> None:
    (made / layout.SIGNATURE).write_text("hello")


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        (cut, "truncated: 296 of 297 bytes"),
        (larger, "larger than the 297 bytes"),
        (altered, "damaged: its checksum"),
        (other_sums, "signature of SHA256SUMS is wrong"),
        (missing, "is missing; get the release again"),
        (other_image, "release of 'other'"),
        (other_place, "no file of a release"),
        (later_kind, "later version"),
        (no_signature, "not a signature"),
    ],
)
def test_release_with_a_fault_is_refused(
    server: Server, tmp_path: Path, fault: Callable[[Path], None], sentence: str
) -> None:
    made = make_release(tmp_path / "new")
    fault(made)
    with pytest.raises(BadInput, match=sentence):
        staged(server, made)


def test_key_of_somebody_else_is_refused(server: Server, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="a key that this server does not accept"):
        staged(server, make_release(tmp_path / "new", key="another key"))


def test_server_without_a_key_takes_nothing(server: Server, tmp_path: Path) -> None:
    (tmp_path / "etc/millrace/update-keys.pgp").unlink()
    with pytest.raises(Refused, match="without an update key"):
        staged(server, make_release(tmp_path / "new"))


def test_archive_with_many_files_is_refused(server: Server, tmp_path: Path) -> None:
    made = tmp_path / "many"
    made.mkdir()
    for number in range(stage.MOST_ENTRIES + 1):
        (made / f"{number}").write_text("")
    with pytest.raises(BadInput, match="more files than a release"):
        staged(server, packed(made))


def test_file_that_is_no_release_is_named(server: Server, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="does not exist"):
        staged(server, tmp_path / "nothing")
    with pytest.raises(BadInput, match="is not a release"):
        staged(server, server.file("tmp/text", "hello " * 999))


def test_full_boot_drive_is_said_before_the_large_files(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("millrace.lifecycle.update.obstacles.KEPT_FREE", 1 << 60)
    with pytest.raises(Refused, match="remove files from /var/tmp"):
        staged(server, make_release(tmp_path / "new"))
    assert not (update_paths.staged_dir() / layout.file_name("usr", "0.2.0", ROOTHASH)).exists()
