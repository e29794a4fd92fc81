# SPDX-License-Identifier: Apache-2.0
"""What the build releases is what a server installs: names, checksums, the signature, and one archive of all."""

import json
import shutil
import tarfile
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from host import keys, release
from host.artefacts import write_sums
from millrace.lifecycle.update import layout, stage
from millrace.lifecycle.update.release import staged
from millrace.system import paths
from millrace.system.errors import BadInput
from millrace.system.run import Result, attempt

ROOTHASH = "0123456789abcdef" * 4
EPOCH = 1795046400


@pytest.fixture(scope="module")
def owner(tmp_path_factory: pytest.TempPathFactory) -> keys.Keys:
    return keys.make(tmp_path_factory.mktemp("owner") / "keys", datetime(2026, 11, 23, tzinfo=UTC))


@pytest.fixture
def output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A build with small images, and a packer that copies."""

    def pack(tools: Path, program: str, *words: str) -> str:
        assert (program, words[:3]) == ("bin/zstd", ("-q", release.THREADS, release.LEVEL))
        shutil.copyfile(words[3], words[5])
        return ""

    monkeypatch.setattr("host.tools_tree.run", pack)
    made = tmp_path / "output"
    made.mkdir()
    name = "millrace_0.2.0_x86-64"
    for suffix in (".usr-x86-64.raw", ".usr-x86-64-verity.raw", ".efi"):
        (made / f"{name}{suffix}").write_text(suffix)
    (made / f"{name}.roothash").write_text(f"{ROOTHASH}\n")
    (tmp_path / "NEWS.md").write_text("# News\n\n## 0.2.0\n\n- Faster.\n\n## 0.1.0\n\n- First.\n")
    return made


def released(output: Path, owner: keys.Keys, name: str = "www") -> Path:
    where = output.with_name(name)
    return release.write(output, owner, Path("tools"), "0.2.0", output.with_name("NEWS.md"), where, EPOCH)


def on_server(argv: Sequence[str], stdin: str | None = None) -> Result:
    """Run a program of the host, which has no boot partition of a server."""
    return Result(0, "/boot\n", "") if list(argv) == ["bootctl", "--print-boot-path"] else attempt(argv, stdin)


def test_server_with_the_public_key_stages_directory_and_archive(
    output: Path, owner: keys.Keys, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    archive = released(output, owner)
    monkeypatch.setattr(paths, "ROOT", tmp_path / "server")
    ring = paths.ROOT / "usr/lib/millrace/update-keys.pgp"
    ring.parent.mkdir(parents=True)
    shutil.copyfile(owner.directory / keys.UPDATE_PUBLIC, ring)
    (paths.ROOT / "boot/EFI/Linux").mkdir(parents=True)
    (paths.ROOT / "usr/lib/os-release").write_text("IMAGE_VERSION=0.1.0\n")
    for path in (archive.parent, archive):
        with stage.origin(path, on_server) as bring:
            new_release = stage.describe(bring, on_server)
            stage.fetch_files(new_release, bring, on_server)
        assert staged(on_server) == new_release and new_release.version == "0.2.0"
        assert "- Faster." in stage.news(new_release) and "- First." not in stage.news(new_release)


def test_images_of_a_first_installation_are_signed_by_the_same_key(output: Path, owner: keys.Keys) -> None:
    write_sums(output)
    released(output, owner)
    signed = [str(output / name) for name in (layout.SIGNATURE, layout.SUMS)]
    verified = attempt(["gpgv", "--keyring", str(owner.directory / keys.UPDATE_PUBLIC), *signed])
    assert verified.status == 0
    (output / layout.SUMS).write_text("other")
    assert attempt(["gpgv", "--keyring", str(owner.directory / keys.UPDATE_PUBLIC), *signed]).status == 1


def test_slots_get_the_uuids_of_the_root_hash(output: Path, owner: keys.Keys) -> None:
    names = {path.name for path in released(output, owner).parent.iterdir()}
    assert "millrace_0.2.0_01234567-89ab-cdef-0123-456789abcdef.usr.raw.zst" in names
    assert layout.file_name("usr-verity", "0.2.0", ROOTHASH) in names


def test_kernel_image_is_the_signed_one_where_there_is_one(output: Path, owner: keys.Keys) -> None:
    where = released(output, owner).parent
    assert (where / "millrace_0.2.0.efi").read_text() == ".efi"
    (output / "signed").mkdir()
    (output / "signed/millrace_0.2.0_x86-64.efi").write_text("signed")
    where = released(output, owner, "again").parent
    assert (where / "millrace_0.2.0.efi").read_text() == "signed"


def test_archive_begins_with_what_is_verified_first_and_names_nobody(output: Path, owner: keys.Keys) -> None:
    with tarfile.open(released(output, owner)) as archive:
        found = archive.getmembers()
    assert [one.name for one in found[:3]] == [layout.SUMS, layout.SIGNATURE, layout.RELEASE]
    assert {(one.uid, one.uname, one.mode, one.mtime) for one in found} == {(0, "root", 0o644, EPOCH)}


def test_directory_with_files_is_left_alone(output: Path, owner: keys.Keys) -> None:
    released(output, owner)
    with pytest.raises(BadInput, match="name a new directory"):
        released(output, owner)


def test_version_without_news_is_refused_and_leaves_nothing(output: Path, owner: keys.Keys) -> None:
    output.with_name("NEWS.md").write_text("# News\n\n## 0.1.0\n\n- First.\n")
    with pytest.raises(BadInput, match=r"no section for 0\.2\.0"):
        released(output, owner)
    assert sorted(path.name for path in output.parent.iterdir()) == ["NEWS.md", "output"]


def test_release_expires_half_a_year_after_its_commit_in_what_is_signed(output: Path, owner: keys.Keys) -> None:
    directory = released(output, owner).parent
    described = json.loads((directory / layout.RELEASE).read_text())
    assert datetime.fromisoformat(described["expires"]) == datetime.fromtimestamp(EPOCH, UTC) + timedelta(days=180)
    assert layout.RELEASE in (directory / layout.SUMS).read_text()
