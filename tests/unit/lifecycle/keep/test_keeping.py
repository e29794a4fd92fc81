# SPDX-License-Identifier: Apache-2.0
"""A generation after each change, none without one, and nothing lost whatever fails."""

import errno
import os
import stat
from contextlib import suppress
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path

import pytest

from millrace import __version__
from millrace.lifecycle.keep import generation, generation_store, keeping, seal, text
from millrace.lifecycle.keep.generation import Generation, pack, unpack
from millrace.lifecycle.keep.model import KeyFile
from millrace.system import files, paths
from millrace.system.errors import BadInput, Refused
from millrace.system.run import Result
from tests.fakes.mounts import unmount_all
from tests.unit.lifecycle.keep.conftest import Server


def key_of(found: Generation, passphrase: str) -> KeyFile:
    """The key that a passphrase makes for this state."""
    assert found.manifest.seal is not None
    return KeyFile(seal=found.manifest.seal, key=seal.derived(found.manifest.seal, passphrase).hex())


def test_everything_is_kept_for_root_alone(server: Server) -> None:
    status = server.keep()
    assert (status.generation, status.problem, status.unread, status.damaged) == (1, None, [], [])
    [path] = server.where.glob("state-*")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for directory in (server.where, server.where.parent):
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    kept = generation_store.read(path)
    opened = kept.readable()
    assert opened["accounts/shadow"].decode() == "admin:$y$admin:20000:::::\nanna:$y$anna:20000:::::\n"
    assert opened["var/lib/samba/private/secrets.tdb.dump"] == b"the SID of the machine"
    assert opened["var/lib/millrace/certificate/authority.key"] == b"key of the authority"
    assert b'"anna"' in opened["var/lib/millrace/config.json"]
    assert kept.manifest.host == "millrace-1a2b3c"
    links = {member.path: member.link for member in kept.manifest.members if member.link}
    assert links == {"var/lib/millrace/certificate/current": "sets/set-1"}


def test_unchanged_state_is_verified_and_not_written_again(server: Server) -> None:
    first = server.keep()
    again = server.keep()
    assert server.kept() == ["state-000001.tar.gz"]
    assert (again.generation, again.written) == (1, first.written)
    assert again.verified is not None and first.verified is not None and again.verified >= first.verified


def test_decision_is_kept_at_once(server: Server) -> None:
    server.keep()
    server.rename("another policy")
    assert server.keep().generation == 2
    server.file("etc/shadow", (server.root / "etc/shadow").read_text().replace("$y$anna", "$y$new"))
    assert server.keep().generation == 3


def test_password_of_a_system_user_is_not_kept(server: Server) -> None:
    server.keep()
    server.file("etc/shadow", (server.root / "etc/shadow").read_text() + "nobody:$y$x:20000:::::\n")
    assert server.keep().generation == 1


def test_time_zone_is_kept_as_the_link_that_it_is(server: Server) -> None:
    (server.root / "etc/localtime").symlink_to("/usr/share/zoneinfo/Europe/Berlin")
    server.keep()
    found = generation_store.newest(server.where)
    assert found is not None
    [one] = [member for member in found.generation.manifest.members if member.path == "etc/localtime"]
    assert (one.link, one.size) == ("/usr/share/zoneinfo/Europe/Berlin", 0)


def test_records_that_grow_by_themselves_are_kept_once_a_day(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.keep()
    server.file("var/lib/samba/private/passdb.tdb", "anna: 1 wrong password")
    assert server.keep().generation == 1

    class Tomorrow(datetime):
        @classmethod
        def now(cls, tz: object = None) -> "Tomorrow":
            return cls.fromtimestamp((datetime.now(UTC) + timedelta(days=1)).timestamp(), UTC)

    monkeypatch.setattr(keeping, "datetime", Tomorrow)
    assert server.keep().generation == 2
    assert server.keep().generation == 2


def test_thirty_generations_stay(server: Server) -> None:
    for number in range(33):
        server.rename(str(number))
        server.keep()
    assert server.kept() == [f"state-{number:06}.tar.gz" for number in range(4, 34)]


def test_damaged_newest_is_reported_and_the_one_before_is_read(server: Server) -> None:
    server.keep()
    server.rename("second")
    server.keep()
    newest = server.where / "state-000002.tar.gz"
    newest.write_bytes(newest.read_bytes()[:-100])
    latest = generation_store.newest(server.where)
    assert latest is not None and latest.number == 1
    assert list(latest.damaged) == [newest] and "damaged" in latest.damaged[newest]
    status = server.keep()
    assert (status.generation, status.damaged) == (3, ["/srv/pool/.millrace/keep/state-000002.tar.gz"])
    assert server.keep().damaged == status.damaged
    newest.unlink()
    assert server.keep().damaged == []


@pytest.mark.parametrize(("age", "waited"), [(0, 30.0), (9, 21.0), (30, None), (3600, None)])
def test_changes_after_a_copy_wait_for_those_that_follow(
    server: Server, monkeypatch: pytest.MonkeyPatch, age: int, waited: float | None
) -> None:
    verified = server.keep().verified
    assert verified is not None

    class Clock(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:
            return datetime.fromisoformat(str(verified)) + timedelta(seconds=age)

    monkeypatch.setattr(keeping, "datetime", Clock)
    pauses = list[float]()
    keeping.wait_for_more(pauses.append)
    assert pauses == ([] if waited is None else [waited])


def test_first_copy_waits_for_nothing(server: Server) -> None:
    pauses = list[float]()
    keeping.wait_for_more(pauses.append)
    assert pauses == []


def test_state_of_which_no_generation_can_be_read_is_kept_again(server: Server) -> None:
    server.keep()
    (server.where / "state-000001.tar.gz").write_bytes(b"")
    status = server.keep()
    assert (status.generation, len(status.damaged)) == (2, 1)


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EROFS, errno.EIO])
@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_pool_that_takes_nothing_is_a_result_and_the_state_before_stays(
    server: Server, monkeypatch: pytest.MonkeyPatch, error: int, call: str
) -> None:
    first = server.keep()
    server.rename("second")
    real = getattr(os, call)

    def fails(one: object, *more: object) -> None:
        where = os.readlink(f"/proc/self/fd/{one}") if isinstance(one, int) else str(one)
        if "srv/pool" in where:
            raise OSError(error, os.strerror(error), where)
        real(one, *more)

    with monkeypatch.context() as broken:
        broken.setattr(os, call, fails)
        status = server.keep()
    assert status.problem is not None and os.strerror(error) in status.problem
    assert (status.generation, status.verified) == (1, first.verified)
    assert server.kept() == ["state-000001.tar.gz"]
    assert server.keep().generation == 2


class Killed(BaseException):
    """The process ends here."""


def test_kill_at_each_write_leaves_a_state_that_can_be_read(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.keep()
    killed = 0
    for after in range(40):
        server.rename(f"attempt {after}")
        left = [after]

        def dies(name: str, left: list[int] = left) -> None:
            real = getattr(os, name)

            def call(*arguments: object, **options: object) -> object:
                if left[0] == 0:
                    raise Killed
                left[0] -= 1
                return real(*arguments, **options)

            broken.setattr(os, name, call)

        with monkeypatch.context() as broken:
            for name in ("fsync", "replace", "unlink", "fchmod", "mkdir"):
                dies(name)
            # nothing cleans up after a process that was killed
            broken.setattr(Path, "unlink", lambda *arguments, **options: os.unlink(arguments[0]))
            try:
                server.keep()
            except Killed:
                killed += 1
            else:
                break
        newest = generation_store.newest(server.where)
        assert newest is not None and not newest.damaged
    assert killed > 4
    server.rename("after all")
    status = server.keep()
    assert status.problem is None
    assert [name for name in server.kept() if name.startswith(".")] == []


def test_pool_that_is_not_mounted_leaves_nothing_on_the_boot_drive(server: Server) -> None:
    unmount_all(server.root)
    status = server.keep()
    assert status.problem == "/srv/pool is not mounted"
    assert list((server.root / "srv/pool").iterdir()) == []


@pytest.mark.parametrize("name", [".millrace", ".millrace/keep"])
def test_directory_that_others_reach_is_not_used(server: Server, name: str) -> None:
    (server.root / "srv/pool" / name).mkdir(parents=True)
    (server.root / "srv/pool/.millrace").chmod(0o700)
    (server.root / "srv/pool" / name).chmod(0o755)
    status = server.keep()
    assert status.problem is not None and "not a directory of root alone" in status.problem
    assert not list(server.root.glob("srv/pool/.millrace/keep/*"))


def test_link_in_the_place_of_the_directory_is_not_followed(server: Server) -> None:
    (server.root / "elsewhere").mkdir(mode=0o700)
    (server.root / "srv/pool/.millrace").symlink_to(server.root / "elsewhere")
    assert "not a directory of root alone" in (server.keep().problem or "")
    assert not list((server.root / "elsewhere").iterdir())


def test_database_that_cannot_be_read_does_not_keep_the_rest_from_being_kept(server: Server) -> None:
    server.run.broken["tdbdump"] = Result(127, "", "tdbdump is not installed")
    status = server.keep()
    assert status.problem is None and status.generation == 1
    assert any("secrets.tdb: tdbdump cannot read it: tdbdump is not installed" in one for one in status.unread)
    del server.run.broken["tdbdump"]
    assert server.keep().unread == []
    assert server.kept()[-1] == "state-000002.tar.gz"


@pytest.mark.parametrize("passphrase", [None, "correct horse battery"])
def test_what_cannot_be_read_now_stays_as_it_was_kept_last(server: Server, passphrase: str | None) -> None:
    if passphrase:
        seal.choose(passphrase)
    server.keep()
    server.run.broken["tdbdump"] = Result(1, "", "Failed to open it")
    server.rename("another policy")
    status = server.keep()
    assert status.generation == 2 and len(status.unread) == 2
    kept = generation_store.read(server.where / "state-000002.tar.gz")
    contents = kept.opened(key_of(kept, passphrase)) if passphrase else kept.readable()
    assert contents["var/lib/samba/private/secrets.tdb.dump"] == b"the SID of the machine"
    assert contents["etc/millrace/policy.toml"] == b"# another policy\n"


def test_kept_state_is_read_from_a_pool_that_cannot_be_written(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.keep()
    before = {path: path.stat().st_mtime_ns for path in server.where.parent.rglob("*")}
    real = os.open

    def read_only(path: str, flags: int, *more: int, **options: int) -> int:
        assert not flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        return real(path, flags, *more, **options)

    monkeypatch.setattr(os, "open", read_only)
    newest = generation_store.newest(server.where)
    assert newest is not None and b'"anna"' in newest.generation.readable()["var/lib/millrace/config.json"]
    assert {path: path.stat().st_mtime_ns for path in server.where.parent.rglob("*")} == before


def test_link_on_a_strange_pool_is_not_followed(server: Server, tmp_path: Path) -> None:
    server.keep()
    strange = tmp_path / "mnt"
    (strange / ".millrace").mkdir(parents=True)
    (strange / ".millrace/keep").symlink_to(server.where)
    with pytest.raises(BadInput, match="leads elsewhere"):
        generation_store.newest(generation_store.directory(strange))


def test_database_that_is_written_meanwhile_is_read_until_two_dumps_agree(server: Server) -> None:
    dumps: list[str] = []

    def dump(words: list[str], stdin: str) -> Result:
        dumps.append(words[0])
        torn = len(dumps) < 3
        return Result(0, f"torn {len(dumps)}" if torn else Path(words[0]).read_text(), "")

    server.run._tdbdump = dump  # type: ignore[method-assign]
    server.keep()
    contents = generation_store.read(server.where / "state-000001.tar.gz").readable()
    assert contents["var/lib/samba/private/secrets.tdb.dump"] == b"the SID of the machine"


def test_database_that_never_rests_is_not_kept_torn(server: Server) -> None:
    server.run._tdbdump = lambda words, stdin: Result(0, str(os.urandom(8)), "")  # type: ignore[method-assign]
    status = server.keep()
    assert "var/lib/samba/private/passdb.tdb: 8 dumps in a row differ" in status.unread
    assert status.generation == 1


def test_change_during_a_look_is_waited_for(server: Server) -> None:
    waited: list[float] = []

    def pause(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) < 3:
            server.rename(f"still changing {len(waited)}")

    keeping.keep(server.run, pause)
    assert len(waited) == 3
    [path] = server.where.glob("state-*")
    assert generation_store.read(path).readable()["etc/millrace/policy.toml"] == b"# still changing 2\n"


def test_passphrase_seals_secrets_and_removes_what_was_readable(server: Server) -> None:
    server.keep()
    seal.choose("correct horse battery")
    status = server.keep()
    assert (status.sealed, server.kept()) == (True, ["state-000002.tar.gz"])
    [path] = server.where.glob("state-*")
    kept = generation_store.read(path)
    everything = b"".join(kept.stored.values()) + kept.manifest.model_dump_json().encode()
    for secret in (b"$y$anna", b"the SID", b"NT hash", b"key of the authority", b"correct horse"):
        assert secret not in everything
    assert b'"anna"' in kept.readable()["var/lib/millrace/config.json"]
    assert (
        kept.opened(key_of(kept, "correct horse battery"))["var/lib/samba/private/secrets.tdb.dump"]
        == b"the SID of the machine"
    )
    with pytest.raises(Refused, match="passphrase does not open"):
        kept.opened(key_of(kept, "another horse battery"))
    # the nonce is another each time, and that is no change
    assert server.keep().generation == 2
    seal.choose("another horse battery")
    server.keep()
    assert server.kept() == ["state-000003.tar.gz"]
    seal.forget()
    status = server.keep()
    assert (status.sealed, server.kept()) == (False, ["state-000003.tar.gz", "state-000004.tar.gz"])


def test_sealed_state_that_another_has_made_is_not_opened(server: Server) -> None:
    """Whoever has the drives can write them: what is not encrypted could be changed, or be in the place of a secret."""
    key = seal.choose("correct horse battery")
    server.keep()
    [path] = server.where.glob("state-*")
    kept = generation_store.read(path)
    members = [member.model_copy(update={"sealed": False}) for member in kept.manifest.members if not member.sealed]
    forged = kept.manifest.model_copy(update={"members": members})
    left = {member.path: kept.stored[member.path] for member in members}
    for made in (pack(forged, left), pack(forged, left, key.model_copy(update={"key": "00"}))):
        with pytest.raises(Refused, match="was not written with this passphrase"):
            unpack(made).opened(key)
    assert unpack(pack(forged, left, key)).opened(key) == left


def test_sealed_state_of_an_earlier_release_is_written_again(server: Server) -> None:
    seal.choose("correct horse battery")
    server.keep()
    [path] = server.where.glob("state-*")
    kept = generation_store.read(path)
    path.write_bytes(pack(kept.manifest, kept.stored))
    assert server.keep().generation == 2
    assert server.keep().generation == 2


def test_state_is_not_left_readable_where_a_passphrase_was_set_before_the_pool_took_it(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.keep()
    seal.choose("correct horse battery")
    with monkeypatch.context() as broken:
        broken.setattr(files.os, "fsync", _no_space)
        with suppress(OSError):
            server.keep()
    assert server.kept() == ["state-000001.tar.gz"]
    server.keep()
    assert server.kept() == ["state-000002.tar.gz"]


def _no_space(descriptor: int) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/srv/pool")


def test_kill_before_earlier_generations_are_removed_is_made_up_for(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.keep()
    seal.choose("correct horse battery")

    def dies(where: Path, seal: object) -> None:
        raise Killed

    with monkeypatch.context() as broken:
        broken.setattr(generation_store, "remove_others", dies)
        with pytest.raises(Killed):
            server.keep()
    assert server.kept() == ["state-000001.tar.gz", "state-000002.tar.gz"]
    server.keep()
    assert server.kept() == ["state-000002.tar.gz"]


def test_file_that_only_root_reads_is_a_secret_wherever_it_is(server: Server) -> None:
    server.file("etc/millrace/policy.toml", "# public\n")
    server.file("etc/millrace/own.key", "private", 0o600)
    seal.choose("correct horse battery")
    server.keep()
    [path] = server.where.glob("state-*")
    sealed = {one.path for one in generation_store.read(path).manifest.members if one.sealed}
    assert "etc/millrace/own.key" in sealed and "etc/millrace/policy.toml" not in sealed


def test_same_content_under_another_name_is_not_opened(server: Server) -> None:
    key = seal.choose("correct horse battery")
    stored = seal.sealed(key, b"x", "one")
    assert seal.opened(bytes.fromhex(key.key), stored, "one") == b"x"
    with pytest.raises(Refused):
        seal.opened(bytes.fromhex(key.key), stored, "two")


def test_key_is_for_root_alone_and_is_not_the_passphrase(server: Server) -> None:
    seal.choose("correct horse battery")
    path = paths.keep_key_file()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "correct" not in path.read_text()


def test_damaged_status_is_replaced(server: Server) -> None:
    server.keep()
    paths.keep_file().write_text("{")
    assert server.keep().generation == 1


def test_size_of_a_generation_is_small(server: Server) -> None:
    server.keep()
    assert (server.where / "state-000001.tar.gz").stat().st_size < 20_000
    assert generation.LARGEST_ALL > 50 * (512 << 10)


def of_later_release(server: Server, path: Path, release: str = "0.9.0") -> None:
    """The generation as a release with another schema of the manifest writes it."""
    found = generation_store.read(path)
    later = found.manifest.model_copy(update={"schema_version": 2, "release": release})
    path.write_bytes(generation.pack(later, found.stored))


def test_state_of_a_later_release_is_not_damaged_and_no_older_one_stands_for_it(server: Server) -> None:
    server.keep()
    server.rename("second")
    server.keep()
    of_later_release(server, server.where / "state-000002.tar.gz")
    with pytest.raises(generation_store.LaterState) as stopped:
        generation_store.newest(server.where)
    assert str(stopped.value) == (
        "state-000002.tar.gz, a kept state on the pool, was written by Millrace 0.9.0, later than this one "
        f"({__version__}): boot an image of Millrace 0.9.0 or later"
    )
    assert [state.problem is None for state in text.listed(server.where).generations] == [False, True]


def test_release_that_was_rolled_back_to_keeps_its_own_state_and_calls_none_damaged(server: Server) -> None:
    server.keep()
    of_later_release(server, server.where / "state-000001.tar.gz")
    status = server.keep()
    assert (status.generation, status.problem, status.damaged) == (2, None, [])
    assert server.keep().generation == 2
    assert server.kept() == ["state-000001.tar.gz", "state-000002.tar.gz"]


def test_generation_torn_after_one_of_a_later_release_is_damaged(server: Server) -> None:
    server.keep()
    server.rename("second")
    server.keep()
    of_later_release(server, server.where / "state-000001.tar.gz")
    (server.where / "state-000002.tar.gz").write_bytes(b"")
    status = server.keep()
    assert (status.generation, status.damaged) == (3, ["/srv/pool/.millrace/keep/state-000002.tar.gz"])


def test_passphrase_leaves_no_readable_state_of_a_later_release(server: Server) -> None:
    server.keep()
    of_later_release(server, server.where / "state-000001.tar.gz")
    seal.choose("a long passphrase")
    assert server.keep().generation == 2
    assert server.kept() == ["state-000002.tar.gz"]
