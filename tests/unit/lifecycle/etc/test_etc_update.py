# SPDX-License-Identifier: Apache-2.0
"""/etc follows the version that boots: forwards, back, interrupted, and never over what was changed on the server."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from millrace.lifecycle.etc import __main__ as entry
from millrace.lifecycle.etc import factory
from millrace.lifecycle.etc.etc_update import EtcUpdate, update_etc
from millrace.serve.render import rendered
from millrace.system import files
from millrace.system.documents import write_model

OLD = {"issue": "Millrace\n", "pam.d/sudo": "auth required\n", "motd": "hello\n", "dead.service": "-> /dev/null"}
NEW = {"issue": "Millrace 2\n", "pam.d/sudo": "auth required\n", "pam.d/new": "auth\n", "masked.timer": "-> /dev/null"}


def brings(root: Path, version: Mapping[str, str]) -> None:
    """The server boots a version whose image has these files below /etc; `-> TARGET` is a link."""
    directory = root / factory.FACTORY
    shutil.rmtree(directory, ignore_errors=True)
    for name, text in {"passwd": "root:x:0:0::/root:/bin/bash\n", ".updated": "1\n", **version}.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text.startswith("-> "):
            path.symlink_to(text.removeprefix("-> "))
        else:
            path.write_text(text)
            path.chmod(0o644)
    write_model(directory / factory.LIST, factory.listed(directory))


def first_boot(root: Path, version: Mapping[str, str]) -> None:
    """systemd-repart copies the factory's /etc."""
    brings(root, version)
    shutil.copytree(root / factory.FACTORY, root / "etc", symlinks=True)


def found(root: Path) -> dict[str, str]:
    """What is in /etc, without what belongs to this server."""
    return {
        str(path.relative_to(root / "etc")): f"-> {path.readlink()}" if path.is_symlink() else path.read_text()
        for path in (root / "etc").rglob("*")
        if (path.is_symlink() or path.is_file()) and path.name not in ("passwd", factory.LIST)
    }


def followed() -> EtcUpdate:
    done = update_etc()
    assert done is not None
    return done


def test_nothing_is_written_in_the_version_that_made_root(root: Path) -> None:
    first_boot(root, OLD)
    assert update_etc() is None and factory.trouble() is None
    assert (root / "etc/.updated").is_file()


def test_next_version_brings_changes_new_files_and_masks_and_takes_what_it_has_not(root: Path) -> None:
    first_boot(root, OLD)
    brings(root, NEW)
    assert factory.trouble() is not None
    done = followed()
    assert found(root) == NEW
    assert (done.written, done.removed, done.kept) == (
        ["issue", "masked.timer", "pam.d/new"],
        ["motd", "dead.service"],
        {},
    )
    assert update_etc() is None and factory.trouble() is None
    # systemd-sysusers.service makes the users of this version
    assert not (root / "etc/.updated").exists()


def test_version_before_returns_its_own(root: Path) -> None:
    first_boot(root, OLD)
    brings(root, NEW)
    update_etc()
    brings(root, OLD)
    update_etc()
    assert found(root) == OLD
    assert not (root / "etc/pam.d/new").exists() and (root / "etc/dead.service").is_symlink()


def test_edit_by_hand_stays_and_is_named_until_it_is_edited_again(root: Path) -> None:
    first_boot(root, OLD)
    (root / "etc/issue").write_text("Keep out\n")
    (root / "etc/pam.d/sudo").write_text("auth sufficient\n")
    brings(root, NEW)
    assert set(followed().kept) == {"issue"}
    # pam.d/sudo is edited and both versions have the same: there is nothing to decide
    assert factory.unlike() == ["issue"] and factory.trouble() is None
    assert (root / "etc/issue").read_text() == "Keep out\n"
    assert (root / "etc/pam.d/sudo").read_text() == "auth sufficient\n"
    assert update_etc() is None
    (root / "etc/issue").write_text("Keep out of Millrace 2\n")
    assert factory.unlike() == []


def test_edit_by_hand_is_not_named_in_the_version_that_it_was_made_in(root: Path) -> None:
    first_boot(root, OLD)
    (root / "etc/issue").write_text("Keep out\n")
    brings(root, NEW)
    update_etc()
    brings(root, OLD)
    assert followed().kept == {}
    assert factory.unlike() == [] and (root / "etc/issue").read_text() == "Keep out\n"


def test_file_deleted_by_hand_stays_away_and_one_made_by_hand_stays(root: Path) -> None:
    first_boot(root, OLD)
    (root / "etc/issue").unlink()
    (root / "etc/pam.d/new").write_text("my own\n")
    brings(root, NEW)
    assert set(followed().kept) == {"issue", "pam.d/new"}
    assert not (root / "etc/issue").exists() and (root / "etc/pam.d/new").read_text() == "my own\n"


def test_file_that_goes_away_stays_where_it_was_edited(root: Path) -> None:
    first_boot(root, OLD)
    (root / "etc/motd").write_text("edited\n")
    brings(root, NEW)
    assert set(followed().kept) == {"motd"} and (root / "etc/motd").read_text() == "edited\n"


def test_mode_that_a_version_changes_arrives(root: Path) -> None:
    first_boot(root, OLD)
    brings(root, OLD)
    (root / factory.FACTORY / "issue").chmod(0o600)
    write_model(root / factory.FACTORY / factory.LIST, factory.listed(root / factory.FACTORY))
    assert followed().written == ["issue"]
    assert (root / "etc/issue").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("name", ["passwd", "shadow", "machine-id", "hostname", "localtime", "ssh/ssh_host_rsa_key"])
def test_accounts_and_identities_are_never_written(root: Path, name: str) -> None:
    first_boot(root, OLD)
    (root / "etc/ssh").mkdir(exist_ok=True)
    (root / "etc" / name).write_text("of this server\n")
    brings(root, {**NEW, name: "of the build\n"})
    assert name not in factory.listed(root / factory.FACTORY).entries
    update_etc()
    assert (root / "etc" / name).read_text() == "of this server\n"


def test_rendered_file_is_left_to_what_renders_it(root: Path) -> None:
    first_boot(root, {**OLD, "samba/smb.conf": "of Debian\n"})
    (root / "etc/samba/smb.conf").write_text("of Millrace\n")
    rendered.save(rendered.Rendered(), {"etc/samba/smb.conf": [rendered.digest(b"of Millrace\n") or ""]})
    brings(root, {**NEW, "samba/smb.conf": "of a later Debian\n"})
    assert followed().kept == {}
    assert (root / "etc/samba/smb.conf").read_text() == "of Millrace\n"


def test_static_file_of_millrace_is_replaced_and_the_edit_is_kept_aside(root: Path) -> None:
    name = "ssh/sshd_config.d/50-millrace.conf"
    first_boot(root, {**OLD, name: "PermitRootLogin no\n", "ld.so.cache": "1"})
    (root / "etc" / name).write_text("PermitRootLogin yes\n")
    (root / "etc/ld.so.cache").write_text("made here")
    brings(root, {**NEW, name: "PermitRootLogin no\nMaxAuthTries 3\n", "ld.so.cache": "2"})
    assert followed().kept == {}
    assert (root / "etc" / name).read_text() == "PermitRootLogin no\nMaxAuthTries 3\n"
    assert (root / "etc/ld.so.cache").read_text() == "2"
    assert [path.read_text() for path in rendered.aside_dir().iterdir()] == ["PermitRootLogin yes\n"]


class PowerCut(Exception):
    """Power ends before a write."""


def cut_after(monkeypatch: pytest.MonkeyPatch, writes: int) -> None:
    """Power ends before the write after so many."""
    left = [writes]

    def counted(real: object) -> object:
        def call(*words: object, **named: object) -> object:
            if left[0] == 0:
                raise PowerCut
            left[0] -= 1
            return real(*words, **named)  # type: ignore[operator]

        return call

    for name in ("replace", "unlink", "mkdir", "rmdir"):
        monkeypatch.setattr(os, name, counted(getattr(os, name)))
        if hasattr(Path, name):
            monkeypatch.setattr(Path, name, counted(getattr(Path, name)))


@pytest.mark.parametrize("back", [False, True])
def test_power_cut_at_any_write_goes_on_in_either_version(
    root: Path, back: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    first_boot(root, {**OLD, "conf": "a file\n"})
    (root / "etc/motd").write_text("edited\n")
    start = root / "start"
    shutil.copytree(root / "etc", start, symlinks=True)
    newer = {**NEW, "conf/one": "below a directory\n"}
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    for writes in range(40):
        shutil.rmtree(root / "etc")
        shutil.copytree(start, root / "etc", symlinks=True)
        brings(root, newer)
        with monkeypatch.context() as patch:
            cut_after(patch, writes)
            try:
                update_etc()
            except PowerCut:
                assert factory.trouble() is not None
            else:
                break
        if back:
            brings(root, {**OLD, "conf": "a file\n"})
        update_etc()
        expected = {**OLD, "conf": "a file\n", "motd": "edited\n"} if back else {**newer, "motd": "edited\n"}
        # an interrupted write of the record itself is of no version
        left = {".updated", *(name for name in found(root) if name.startswith(f".{factory.LIST}."))}
        assert {name: text for name, text in found(root).items() if name not in left} == expected, writes
        assert update_etc() is None
    assert 10 < writes < 39


def test_full_disk_leaves_the_rest_for_the_next_boot(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first_boot(root, OLD)
    brings(root, NEW)

    def full(path: Path, *_: object) -> None:
        raise OSError(28, "No space left on device", str(path))

    with monkeypatch.context() as patch:
        patch.setattr("millrace.lifecycle.etc.etc_update.write_blocks", full)
        done = followed()
    assert done.problems == ["/etc/issue: No space left on device", "/etc/pam.d/new: No space left on device"]
    assert factory.trouble() == "; ".join(done.problems)
    assert followed().problems == [] and found(root) == NEW and factory.trouble() is None


def test_directory_that_leads_elsewhere_is_not_followed(root: Path) -> None:
    first_boot(root, OLD)
    shutil.move(root / "etc/pam.d", root / "elsewhere")
    (root / "etc/pam.d").symlink_to(root / "elsewhere")
    brings(root, {**NEW, "pam.d/sudo": "auth optional\n"})
    update_etc()
    assert (root / "elsewhere/sudo").read_text() == "auth required\n" and not (root / "elsewhere/new").exists()


def test_root_of_a_version_without_a_list_keeps_what_differs(root: Path) -> None:
    first_boot(root, OLD)
    (root / "etc" / factory.LIST).unlink()
    brings(root, NEW)
    assert set(followed().kept) == {"issue"}
    assert (root / "etc/masked.timer").is_symlink() and (root / "etc/motd").is_file()


def test_group_of_a_file_is_found_by_its_name(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owners: dict[str, tuple[int, int]] = {}
    first_boot(root, {"group": "polkitd:x:982:\n"})
    (root / "etc/group").write_text("polkitd:x:977:\n")
    brings(root, {"group": "polkitd:x:982:\n", "rules": "x\n"})
    real = os.lstat

    class Stat:
        def __init__(self, path: Path) -> None:
            self.st_mode, self.st_uid, self.st_gid = real(path).st_mode, 0, 982

    def noted(path: Path, blocks: list[bytes], mode: int, owner: tuple[int, int]) -> None:
        owners[path.name] = owner
        files.write_blocks(path, blocks, mode)

    monkeypatch.setattr("millrace.lifecycle.etc.etc_update.write_blocks", noted)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "lstat", lambda self: Stat(self))  # noqa: PLW0108
        update_etc()
    assert owners == {"rules": (0, 977)}


def test_boot_without_an_update_reads_two_files(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first_boot(root, OLD)
    monkeypatch.setattr(entry, "FACTORY", root / factory.FACTORY / factory.LIST)
    monkeypatch.setattr(entry, "RECORD", root / "etc" / factory.LIST)
    monkeypatch.setattr(entry, "_follow", lambda: pytest.fail("nothing is to be done"))
    assert entry.main([]) == 0


def test_record_of_a_later_schema_is_named_and_left_alone_after_a_rollback(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first_boot(root, NEW)
    record = root / "etc" / factory.LIST
    record.write_text('{"schema_version": 2, "trees": {}}\n')
    brings(root, {**OLD, "millrace.conf": "of this version\n"})
    before = found(root)
    monkeypatch.setattr(entry, "RECORD", record)
    assert entry.main([]) == 0
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("/etc stays that of a later version: ") and "start the later release again" in line
    assert record.read_text() == '{"schema_version": 2, "trees": {}}\n' and found(root) == before
    assert "later release" in (factory.trouble() or "") and factory.unlike() == []


def test_error_is_one_sentence(root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    first_boot(root, OLD)
    (root / factory.FACTORY / factory.LIST).write_text("{")
    monkeypatch.setattr(entry, "RECORD", root / "etc" / factory.LIST)
    assert entry.main([]) == 1
    assert capsys.readouterr().err.startswith("/etc of this version is not written: ")
    assert (factory.trouble() or "").endswith("is not valid JSON: EOF while parsing an object at line 1 column 1")
