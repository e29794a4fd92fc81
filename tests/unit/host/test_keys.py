# SPDX-License-Identifier: Apache-2.0
"""Keys are made whole or not at all, never overwritten, and a rotation keeps what was signed before acceptable."""

import os
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import Encoding

from host import efivars, keys, pgp
from host.layout import REPO
from millrace.system.errors import BadInput, Failed, MillraceError, Refused

NOW = datetime(2026, 11, 23, 10, 40, tzinfo=UTC)
LATER = NOW + timedelta(days=400)


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return keys.make(tmp_path_factory.mktemp("owner") / "keys", NOW).directory


@pytest.fixture
def directory(pristine: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(pristine, tmp_path / "keys"))


@pytest.fixture(scope="module")
def begun(pristine: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return keys.begin_rotation(
        Path(shutil.copytree(pristine, tmp_path_factory.mktemp("owner") / "keys")), LATER
    ).directory


@pytest.fixture
def rotating(begun: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(begun, tmp_path / "rotating"))


def enrolled(directory: Path, name: str = "db") -> list[bytes]:
    return efivars.certificates_in(efivars.content_of((directory / f"{name}.auth").read_bytes()))


def certificate(path: Path) -> bytes:
    return keys._certificate(path).public_bytes(Encoding.DER)


def test_only_the_owner_reads_the_keys(pristine: Path) -> None:
    assert pristine.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in pristine.iterdir()} == {0o600}


def test_each_variable_has_the_certificate_of_its_name(pristine: Path) -> None:
    for name in ("PK", "KEK", "db"):
        assert enrolled(pristine, name) == [certificate(pristine / f"{name}.crt")]
        assert (pristine / f"{name}.cer").read_bytes() == certificate(pristine / f"{name}.crt")


def test_the_key_of_root_is_a_pair_that_a_tpm_verifies(pristine: Path) -> None:
    public = serialization.load_pem_public_key((pristine / keys.PCR_PUBLIC).read_bytes())
    secret = keys.Keys(pristine).key("pcr")
    assert secret.public_key() == public and secret.key_size == 2048
    assert keys.Keys(pristine).root_keys() == [pristine / keys.PCR]


def test_kernel_images_are_signed_with_all_keys_of_root(rotating: Path) -> None:
    before, after = ((rotating / place / keys.PCR).read_bytes() for place in (".", "next"))
    assert [path.read_bytes() for path in keys.Keys(rotating).root_keys()] == [before, after]
    keys.switch(rotating, LATER)
    assert [path.read_bytes() for path in keys.Keys(rotating).root_keys()] == [after, before]
    assert keys.load(rotating).key("pcr").public_key() == serialization.load_pem_public_key(
        (rotating / keys.PCR_PUBLIC).read_bytes()
    )


def test_a_directory_of_before_gets_the_key_of_root(directory: Path) -> None:
    before = {path.name: path.read_bytes() for path in directory.iterdir()}
    for name in (keys.PCR, keys.PCR_PUBLIC):
        (directory / name).unlink()
    with pytest.raises(BadInput, match=r"has no pcr\.key; tools/keys make"):
        keys.load(directory)
    keys.make(directory, LATER)
    after = {path.name: path.read_bytes() for path in directory.iterdir()}
    assert after.keys() == before.keys() and {name for name in after if after[name] != before[name]} == {
        keys.PCR,
        keys.PCR_PUBLIC,
    }


def test_the_key_of_updates_is_a_pair(pristine: Path) -> None:
    (secret,) = pgp.fingerprints(pristine / keys.UPDATE)
    assert pgp.fingerprints(pristine / keys.UPDATE_PUBLIC) == [secret]


def test_a_directory_in_the_clone_is_refused(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(REPO)
    for place in (REPO / "keys", REPO, link / "keys"):
        with pytest.raises(BadInput, match="inside the clone"):
            keys.make(place, NOW)
    assert not (REPO / "keys").exists()


def test_what_exists_is_never_overwritten(directory: Path, tmp_path: Path) -> None:
    before = {path.name: path.read_bytes() for path in directory.iterdir()}
    file = tmp_path / "file"
    file.write_text("mine")
    for place in (directory, file):
        with pytest.raises(BadInput, match="nothing in it is overwritten"):
            keys.make(place, NOW)
    assert {path.name: path.read_bytes() for path in directory.iterdir()} == before


def test_a_broken_making_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> tuple[bytes, bytes]:
        raise Failed("gpg is gone.")

    monkeypatch.setattr(pgp, "make", fail)
    with pytest.raises(Failed, match="gpg is gone"):
        keys.make(tmp_path / "keys", NOW)
    assert not list(tmp_path.iterdir())


def test_next_keys_are_accepted_before_they_sign(pristine: Path, rotating: Path) -> None:
    (old,) = pgp.fingerprints(pristine / keys.UPDATE)
    directory = rotating
    assert (directory / "db.key").read_bytes() == (pristine / "db.key").read_bytes()
    assert pgp.fingerprints(directory / keys.UPDATE) == [old]
    assert enrolled(directory) == [certificate(directory / "db.crt"), certificate(directory / "next/db.crt")]
    new, also = pgp.fingerprints(directory / keys.UPDATE_PUBLIC)
    assert also == old and [new] == pgp.fingerprints(directory / "next" / keys.UPDATE)


def test_switched_keys_sign_and_those_of_before_are_accepted(rotating: Path) -> None:
    directory = rotating
    old = (directory / "db.crt").read_bytes()
    (old_update,) = pgp.fingerprints(directory / keys.UPDATE)
    new = (directory / "next/db.crt").read_bytes()
    keys.switch(directory, LATER)
    assert (directory / "db.crt").read_bytes() == new and (directory / "old/1/db.crt").read_bytes() == old
    assert enrolled(directory) == [certificate(directory / "db.crt"), certificate(directory / "old/1/db.crt")]
    assert pgp.fingerprints(directory / keys.UPDATE_PUBLIC) == [*pgp.fingerprints(directory / keys.UPDATE), old_update]
    assert not (directory / "next").exists() and not (directory / "switching").exists()


def test_a_second_rotation_keeps_all_that_were_accepted(rotating: Path) -> None:
    directory = rotating
    keys.switch(directory, LATER)
    keys.begin_rotation(directory, LATER + timedelta(days=1))
    keys.switch(directory, LATER + timedelta(days=1))
    assert len(set(enrolled(directory))) == 3
    assert len(set(pgp.fingerprints(directory / keys.UPDATE_PUBLIC))) == 3


def test_a_rotation_of_before_the_key_of_root_is_kept(rotating: Path) -> None:
    directory = rotating
    keys.switch(directory, LATER)
    for name in (keys.PCR, keys.PCR_PUBLIC):
        (directory / "old/1" / name).unlink()
    keys.begin_rotation(directory, LATER + timedelta(days=1))
    keys.switch(directory, LATER + timedelta(days=1))
    assert len(set(enrolled(directory))) == 3
    assert {path.name for path in (directory / "old/2").iterdir()} == set(keys.ROTATED)


# all of them: a file that has its content already is not written again
@pytest.mark.parametrize("after", range(24))
def test_an_interrupted_switch_goes_on(rotating: Path, after: int, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = rotating
    accepted = set(enrolled(directory))
    new = {name: (directory / "next" / name).read_bytes() for name in keys.ROTATED}
    calls = 0

    def cut(function: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object, **more: object) -> object:
            nonlocal calls
            calls += 1
            if calls > after:
                raise KeyboardInterrupt
            return function(*arguments, **more)

        return call

    with monkeypatch.context() as patched:
        patched.setattr(keys, "_write", cut(keys._write))
        patched.setattr(keys.shutil, "rmtree", cut(keys.shutil.rmtree))
        patched.setattr(Path, "rename", cut(Path.rename))
        patched.setattr(os, "replace", cut(os.replace))
        with pytest.raises(KeyboardInterrupt):
            keys.switch(directory, LATER)
    if (directory / "switching").exists():
        with pytest.raises(Refused, match="was interrupted; run: tools/keys rotate --switch"):
            keys.load(directory)
    keys.switch(directory, LATER)
    assert {name: (directory / name).read_bytes() for name in keys.ROTATED} == new
    assert set(enrolled(directory)) == accepted


def test_a_rotation_under_way_is_not_begun_again(rotating: Path) -> None:
    with pytest.raises(Refused, match="has the next keys already"):
        keys.begin_rotation(rotating, LATER)


def test_nothing_is_switched_without_next_keys(directory: Path) -> None:
    with pytest.raises(BadInput, match="has no next keys"):
        keys.switch(directory, LATER)


def _forget(directory: Path) -> None:
    (directory / "KEK.key").unlink()


def _open(directory: Path) -> None:
    (directory / "db.key").chmod(0o644)


def _mix(directory: Path) -> None:
    shutil.copyfile(directory / "PK.crt", directory / "db.crt")


def _swap(directory: Path) -> None:
    shutil.copyfile(directory / "PK.key", directory / keys.PCR)


def _spoil(directory: Path) -> None:
    (directory / "PK.key").write_text("-----BEGIN PRIVATE KEY-----\n")


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (_forget, "has no KEK.key"),
        (_open, "Other users can read .*db.key; run: chmod"),
        (_mix, "db.crt is not the certificate of db.key"),
        (_swap, "pcr.pub is not the public key of pcr.key"),
        (_spoil, "PK.key cannot be read as a secret key"),
    ],
)
def test_a_directory_that_is_not_in_order_is_one_sentence(
    directory: Path, harm: Callable[[Path], None], words: str
) -> None:
    harm(directory)
    with pytest.raises(MillraceError, match=words) as error:
        keys.load(directory)
    assert "\n" not in str(error.value)


def test_all_keys_are_shown_by_fingerprint(rotating: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = rotating
    assert keys.main(["show", str(directory)]) == 0
    shown = capsys.readouterr().out
    assert shown.count("also accepted: ") == 2 and shown.count("also signs: ") == 1
    assert all(one in shown for one in pgp.fingerprints(directory / keys.UPDATE_PUBLIC))
    assert "made 2026-11-23" in shown
