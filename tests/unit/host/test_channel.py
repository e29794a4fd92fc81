# SPDX-License-Identifier: Apache-2.0
"""A channel offers a release whole and in one step, and never an older one."""

import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from host import channel
from host.artefacts import write_sums
from millrace.lifecycle.update import layout
from millrace.lifecycle.update.model import Kind, Release, ReleaseFile
from millrace.system.errors import BadInput, Refused

ROOTHASH = "0123456789abcdef" * 4
OLD, NEW = "0.2.0.20261124.1456", "0.2.0.20261125.0900"
KINDS: tuple[Kind, ...] = ("usr-verity", "usr", "kernel", "news")


def release(directory: Path, version: str, content: str = "") -> Path:
    """A directory as `tools/build --release` writes it, with small files."""
    directory.mkdir()
    files = []
    for kind in KINDS:
        name = layout.file_name(kind, version, ROOTHASH)
        (directory / name).write_text(f"{kind} {version} {content}")
        files.append(ReleaseFile(kind=kind, name=name, size=(directory / name).stat().st_size))
    until = datetime(2027, 5, 1, tzinfo=UTC).isoformat(timespec="seconds")
    described = Release(image=layout.IMAGE, version=version, files=files, expires=until)
    (directory / layout.RELEASE).write_text(described.model_dump_json())
    write_sums(directory)
    (directory / layout.SIGNATURE).write_bytes(b"signature")
    return directory


@pytest.fixture
def web(tmp_path: Path) -> Path:
    return tmp_path / "web"


def put(web: Path, name: str, what: Path | str) -> int:
    return channel.main([str(web), name, str(what)])


def test_channel_offers_all_files_of_a_release(web: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = release(tmp_path / "made", OLD)
    assert put(web, "testing", made) == 0
    assert capsys.readouterr().out == f"testing offers {OLD} (0.0 GB).\n"
    served = {path.name: path.read_bytes() for path in (web / "testing").iterdir()}
    assert served == {path.name: path.read_bytes() for path in made.iterdir()}
    assert not (web / "stable").exists()


def test_tested_release_becomes_stable_without_another_copy(web: Path, tmp_path: Path) -> None:
    put(web, "testing", release(tmp_path / "made", OLD))
    put(web, "stable", OLD)
    put(web, "testing", release(tmp_path / "next", NEW))
    offered = {name: channel.offered(web, name) for name in channel.CHANNELS}
    assert offered == {"stable": OLD, "testing": NEW}
    assert sorted(path.name for path in (web / channel.RELEASES).iterdir()) == [OLD, NEW]
    # a web server that is moved finds it, too
    assert not (web / "stable").readlink().is_absolute()


def test_older_release_is_refused(web: Path, tmp_path: Path) -> None:
    put(web, "stable", release(tmp_path / "next", NEW))
    with pytest.raises(Refused, match=f"stable offers {NEW}"):
        put(web, "stable", release(tmp_path / "made", OLD))
    assert channel.offered(web, "stable") == NEW


@pytest.mark.parametrize("is_gone", [True, False])
def test_release_that_is_damaged_or_gone_is_replaced(web: Path, tmp_path: Path, is_gone: bool) -> None:
    put(web, "stable", release(tmp_path / "made", OLD))
    place = web / channel.RELEASES / OLD
    if is_gone:
        shutil.rmtree(place)
    else:
        (place / layout.file_name("kernel", OLD, ROOTHASH)).write_text("damaged")
    assert put(web, "stable", release(tmp_path / "next", NEW)) == 0
    assert channel.offered(web, "stable") == NEW


def test_damaged_release_reaches_no_channel(web: Path, tmp_path: Path) -> None:
    put(web, "stable", release(tmp_path / "made", OLD))
    damaged = release(tmp_path / "next", NEW)
    kernel = damaged / layout.file_name("kernel", NEW, ROOTHASH)
    kernel.write_text(kernel.read_text().upper())
    with pytest.raises(BadInput, match="is damaged"):
        put(web, "stable", damaged)
    kernel.unlink()
    with pytest.raises(BadInput, match=f"has no {kernel.name}"):
        put(web, "stable", damaged)
    assert channel.offered(web, "stable") == OLD


@pytest.mark.parametrize("name", [layout.SUMS, layout.SIGNATURE, layout.RELEASE])
def test_directory_that_is_no_release_is_refused(web: Path, tmp_path: Path, name: str) -> None:
    made = release(tmp_path / "made", OLD)
    (made / name).unlink()
    with pytest.raises(BadInput, match=f"has no {name}"):
        put(web, "stable", made)


def test_another_release_with_the_same_version_is_refused(web: Path, tmp_path: Path) -> None:
    put(web, "testing", release(tmp_path / "made", OLD))
    with pytest.raises(BadInput, match="another release with the same version"):
        put(web, "testing", release(tmp_path / "other", OLD, "other"))
    assert put(web, "stable", OLD) == 0


@pytest.mark.parametrize("version", [NEW, "nothing", "0.2"])
def test_version_that_is_not_there_is_named(web: Path, tmp_path: Path, version: str) -> None:
    put(web, "testing", release(tmp_path / "made", OLD))
    with pytest.raises(BadInput, match=f"has no release {version}"):
        put(web, "stable", version)


def test_copy_that_was_interrupted_is_made_again(web: Path, tmp_path: Path) -> None:
    left = web / channel.RELEASES / channel.COPYING
    left.mkdir(parents=True)
    (left / "half").write_text("half")
    (web / channel.SWITCHING).symlink_to("nowhere")
    put(web, "stable", release(tmp_path / "made", OLD))
    assert channel.offered(web, "stable") == OLD and not left.exists()
    assert not (web / "stable" / "half").exists()
