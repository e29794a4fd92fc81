# SPDX-License-Identifier: Apache-2.0
"""The archive has what it lists, nothing of it is a secret or a name of the owner, and it is written whole or not."""

import io
import json
import os
import re
import shutil
import stat
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from millrace.cli.program import millrace
from millrace.inventory.udev import MD_MEMBER
from millrace.observe.alert.model import RouteSecrets
from millrace.observe.support.archive import make
from millrace.observe.support.parts import LARGEST, ArchivePart, parts
from millrace.protect.backup import backup_store
from millrace.storage.assemble.in_sync import InSync
from millrace.storage.assemble.readd import Return, Returns
from millrace.storage.record import erasure, removal_record
from millrace.storage.record.change_journal import ChangeJournal
from millrace.storage.record.erasure import Erasure
from millrace.storage.record.model import DriveRecord
from millrace.storage.record.pool_file import load_pool
from millrace.storage.record.scrub_record import ScrubRecord
from millrace.storage.rescue.rescue_model import NewLog, Rescue
from millrace.storage.trim.trim_record import TrimRecord
from millrace.system import paths
from millrace.system.documents import write_model
from millrace.system.errors import Failed, Refused
from tests.fakes.files.box import Box, serial
from tests.fakes.files.running import server
from tests.unit.storage.change.test_change_text import AT, drive, plan

pytestmark = pytest.mark.skipif(not shutil.which("zstd"), reason="needs zstd")

PLANTED = {
    "webhook": "https://chat.example.org/hooks/T00/B00/w3bh00k",
    "hash": "$y$j9T$QkU2a1Vw$abcdefghijklmnop",
    "other hash": "$6$saltsalt$0123456789abcdefghij",
    "NT hash": "8846F7EAEE8FB117AD06BDD830B7586C",
    "one-time password": "abcd-efgh-2345-jkmn-pqrs",
    "bearer": "eyJhbGciOiJIUzI1NiJ9.abc",
    "password": "hunter2-hunter2",
    "password of a backup": "tn3bg-gdpg7-z5uwq-pnx7k",
    "secret of a backup": "s3cret-of-user",
    "key": "MC4CAQAwBQYDK2VwBCIEIJ",
}
OWNER = [
    "anna",
    "ben",
    "research",
    "models",
    "imagenet",
    "Weights and checkpoints",
    "10.77.0.0",
    "ops@corp.example.org",
]
# What a program logs that should not have.
LOGGED = f"""webhook {PLANTED["webhook"]} failed
root:{PLANTED["hash"]}:20000:0:99999:7:::
and {PLANTED["other hash"]}, {PLANTED["NT hash"]}
One-time password: {PLANTED["one-time password"]}
Authorization: Bearer {PLANTED["bearer"]}
password={PLANTED["password"]} "token": "{PLANTED["password"]}"
-----BEGIN PRIVATE KEY-----
{PLANTED["key"]}
-----END PRIVATE KEY-----
restic: {PLANTED["password of a backup"]} and {PLANTED["secret of a backup"]}
drive {serial(0)} at 10.77.0.0. Mail to ops@corp.example.org
Auth: [SMB2,(null)] user [CORP]\\[stranger] at [now] with [NTLMv2] workstation [STRANGERS-PC] became [CORP]\\[stranger]
share models of anna, not remodels
"""


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    """A server with secrets and names of its owner in every file that is read."""
    with server(tmp_path / "root") as made:
        made.provision()
        made.shares()
        made.look()
        made.tree.write("etc/shadow", f"root:{PLANTED['hash']}:20000:0:99999:7:::\n")
        made.tree.write("etc/machine-id", "8d1f4c7a3b5e4f0d9c2b1a0e7f6d5c4b\n")
        issue = f"One-time password: {PLANTED['one-time password']}\n"
        made.tree.write("run/issue.d/60-millrace-admin.issue", issue)
        secrets = backup_store.secrets_directory("offsite")
        secrets.mkdir(parents=True)
        (secrets / "password").write_text(f"{PLANTED['password of a backup']}\n")
        (secrets / "repository").write_text(f"rest:https://ann:{PLANTED['secret of a backup']}@host:8000/data/\n")
        write_model(paths.alert_dir() / "secrets.json", RouteSecrets(secrets={"chat": PLANTED["webhook"]}), 0o600)
        yield made


def planted(name: str) -> ArchivePart:
    return ArchivePart(name, "a file with all of it", LOGGED.encode)


def unpacked(file: Path) -> dict[str, str]:
    """Every file of an archive as text."""
    packed = subprocess.run(["zstd", "-dc", str(file)], capture_output=True, check=True).stdout
    (file.parent / "packed").write_bytes(packed)
    with tarfile.open(file.parent / "packed") as archive:
        members = {one.name: archive.extractfile(one) for one in archive.getmembers()}
        return {name: member.read().decode(errors="replace") for name, member in members.items() if member}


def real_zstd(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tools of the fake server print what they always print; this one has to compress."""
    monkeypatch.setattr("millrace.system.archive.must", lambda run, argv: subprocess.run(argv, check=True))


def test_no_secret_and_no_name_leaves_the_server(box: Box, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real_zstd(monkeypatch)
    for path in (paths.health_file(), paths.smart_file(), paths.policy_file(), paths.plan_file(), paths.pool_file()):
        path.write_text(path.read_text() + LOGGED)
    chosen = [planted("journal.txt"), *(part for part in parts() if not part.opaque and "journal" not in part.name)]
    made = make(tmp_path / "archive.tar.zst", chosen)
    texts = unpacked(tmp_path / "archive.tar.zst")
    assert sorted(texts) == sorted(part.name for part in made.parts) == sorted(part.name for part in chosen)
    text = "".join(texts.values())
    assert len(texts["journal.txt"]) > 300 and len(text) > 10_000
    leaked = {name for name, secret in PLANTED.items() if secret in text}
    assert leaked == set()
    names = [*OWNER, "stranger", "STRANGERS-PC", *(serial(number) for number in range(12))]
    assert {name for name in names if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)} == set()
    # a name is replaced where it is a word, by the same one everywhere
    assert "not remodels" in texts["journal.txt"] and "share-" in texts["config.json"]


def test_file_in_doubt_is_not_named(box: Box, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real_zstd(monkeypatch)
    box.scrub()
    box.look()
    make(tmp_path / "archive.tar.zst", parts())
    found = unpacked(tmp_path / "archive.tar.zst")
    assert "file-" in found["scrub.json"] and "in doubt: file-" in found["health.json"]
    assert [name for name, text in found.items() if "shard-0007" in text] == []


def test_document_is_still_one(box: Box, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real_zstd(monkeypatch)
    make(tmp_path / "archive.tar.zst", [part for part in parts() if part.name.endswith(".json")])
    texts = unpacked(tmp_path / "archive.tar.zst")
    available = {name for name, text in texts.items() if not text.startswith("not available: ")}
    assert {"config.json", "drives.json", "health.json", "inventory.json", "pool.json", "smart.json"} <= available
    for name in available:
        json.loads(texts[name])
    drives = json.loads(texts["drives.json"])["drives"]
    assert len({disk["serial"] for disk in drives}) == len(drives) == 13
    # the same drive has the same pseudonym in every file
    assert drives[0]["serial"] in texts["smart.json"] and drives[0]["serial"] in texts["pool.json"]


# Drives that no inventory and no history has any more.
GONE = [f"GONE-{number}-SERIAL" for number in range(8)]


def records() -> None:
    """What is kept of drives and arrays, each with a drive that is nowhere else."""
    old, new = drive(GONE[0], "7"), drive(GONE[1], "7")
    change = ChangeJournal.open(plan().model_copy(update={"old": old, "new": new}), "carol", AT).change
    write_model(paths.drive_changed_file(), change.model_copy(update={"ended": AT}))
    erased = Erasure.model_validate(
        {"id": "1", "serial": GONE[2], "wwid": f"eui.{GONE[2]}", "bay": "7", "state": "done", "method": "format"}
        | {"boot": "b", "began": AT, "ended": AT, "reason": None, "unproved": None}
    )
    erasure.save(erased)
    returned = Return(serial=GONE[3], array="data", at=AT, outcome="re-added")
    write_model(paths.returns_file(), Returns(returns=[returned]))
    removal_record.add(GONE[4], AT)
    made = DriveRecord(serial=GONE[5], wwid="eui.1", disk_label="d", partitions=[])
    log = NewLog(drives=[made], array=load_pool().arrays[0], steps=[])
    rescue = Rescue(id="1", by="dora", at=AT, lost="u", lost_drives=GONE[6:], steps=[], new=log)
    write_model(paths.rescue_file(), rescue)
    write_model(paths.rescued_file(), rescue.model_copy(update={"ended": AT}))
    write_model(paths.in_sync_file(), InSync(arrays=[]))
    write_model(paths.scrub_file(), ScrubRecord())
    write_model(paths.trim_file(), TrimRecord(uuid="u"))


RECORDS = {"drive-change", "drive-changed", "erase", "in-sync", "removed", "rescue", "rescued", "returns"}
RECORDS |= {"scrub", "trim"}


def test_records_of_drives_are_there_without_their_serials_and_users(
    box: Box, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_zstd(monkeypatch)
    # what never happened is no problem
    assert {part.name.removesuffix(".json") for part in parts()} & RECORDS == set()
    records()
    chosen = [part for part in parts() if part.name.removesuffix(".json") in RECORDS]
    assert len(chosen) == len(RECORDS)
    assert [part.name for part in make(tmp_path / "archive.tar.zst", chosen).parts if part.problem] == []
    texts = unpacked(tmp_path / "archive.tar.zst")
    text = "".join(texts.values())
    assert [name for name in (*GONE, "carol", "dora") if name in text] == []
    change, changed = (json.loads(texts[f"drive-change{end}.json"]) for end in ("", "d"))
    assert change["plan"]["old"]["serial"] == changed["plan"]["old"]["serial"] != change["plan"]["new"]["serial"]


def test_arrays_members_and_xfs_are_described_by_their_tools(
    box: Box, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_zstd(monkeypatch)
    for name in ("nvme2n1p2", "nvme3n1p2"):
        member = f"E:ID_FS_TYPE={MD_MEMBER}\n"
        box.tree.write(f"run/udev/data/b{box.tree.number_of(name)}", member)
    chosen = [part for part in parts() if part.name in ("md-detail.txt", "md-examine.txt", "xfs-info.txt")]
    assert [part.name for part in make(tmp_path / "archive.tar.zst", chosen).parts if part.problem] == []
    texts = unpacked(tmp_path / "archive.tar.zst")
    assert "/dev/md126:" in texts["md-detail.txt"] and "/dev/md127:" in texts["md-detail.txt"]
    # a member that cannot be read hides no other
    assert "/dev/nvme2n1p2:" in texts["md-examine.txt"]
    assert "/dev/nvme3n1p2: mdadm: cannot open /dev/nvme3n1p2" in texts["md-examine.txt"]
    assert "11111111:22222222:33333333:44444444" not in "".join(texts.values())
    assert "agcount=32" in texts["xfs-info.txt"]


def test_server_without_arrays_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real_zstd(monkeypatch)
    with server(tmp_path / "root"):
        chosen = [one for one in parts() if one.name in ("md-detail.txt", "md-examine.txt", "xfs-info.txt")]
        problems = [one.problem for one in make(tmp_path / "archive.tar.zst", chosen).parts]
    assert problems[:2] == ["there is none"] * 2 and "no pool" in (problems[2] or "")


def test_file_that_cannot_be_made_says_why_and_the_others_are_there(
    box: Box, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_zstd(monkeypatch)

    def failing() -> bytes:
        raise Failed(f"drive {serial(0)} does not answer")

    made = make(
        tmp_path / "a.tar.zst",
        [ArchivePart("bad.txt", "bad", failing), ArchivePart("good.txt", "good", lambda: b"well")],
    )
    bad, good = made.parts
    assert bad.problem is not None and bad.problem.endswith("does not answer") and serial(0) not in bad.problem
    texts = unpacked(tmp_path / "a.tar.zst")
    assert texts["bad.txt"].startswith("not available: drive ") and serial(0) not in texts["bad.txt"]
    assert (texts["good.txt"], good.problem, good.size) == ("well", None, 4)


def test_archive_is_of_its_owner_alone_and_replaces_nothing(
    box: Box, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_zstd(monkeypatch)
    file = tmp_path / "a.tar.zst"
    make(file, [planted("a.txt")])
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    before = file.read_bytes()
    with pytest.raises(Refused, match=r"a\.tar\.zst already exists; choose another file$"):
        make(file, [planted("a.txt")])
    assert file.read_bytes() == before
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Refused, match="already exists"):
        make(link, [planted("a.txt")])
    assert not (tmp_path / "elsewhere").exists()


def test_archive_that_cannot_be_written_leaves_nothing(
    box: Box, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(run: object, argv: list[str]) -> str:
        Path(argv[4]).write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("millrace.system.archive.must", full)
    target = tmp_path / "target"
    target.mkdir()
    with pytest.raises(Failed, match="cannot be written: No space left on device"):
        make(target / "a.tar.zst", [planted("a.txt")])
    assert os.listdir(target) == []
    with pytest.raises(Refused, match="does not exist; create it first"):
        make(tmp_path / "nowhere/a.tar.zst", [planted("a.txt")])


def test_user_without_rights_is_refused(tmp_path: Path) -> None:
    with server(tmp_path, user=1001), pytest.raises(Refused, match="requires root"):
        make(tmp_path / "a.tar.zst", [planted("a.txt")])
    assert not (tmp_path / "a.tar.zst").exists()


def test_large_file_is_cut(box: Box, tmp_path: Path) -> None:
    with (box.root / "proc/mdstat").open("wb") as file:
        file.truncate(LARGEST + 1000)
    [mdstat] = [one for one in parts() if one.name == "mdstat.txt"]
    assert len(mdstat.make()) == LARGEST


def test_contents_are_listed_before_anything_is_collected(
    box: Box, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_zstd(monkeypatch)
    monkeypatch.setattr(
        "millrace.observe.support.parts.parts",
        lambda: [planted("a.txt"), ArchivePart("b.txt", "second", dict().popitem)],
    )
    file = tmp_path / "a.tar.zst"
    said = CliRunner().invoke(millrace, ["support", str(file)], catch_exceptions=False).stdout.splitlines()
    assert said[0] == f"{file} will contain:"
    assert [line.split()[0] for line in said[1:4]] == ["File", "a.txt", "b.txt"]
    assert said[4].startswith("b.txt is not available: KeyError")
    assert said[5] == f"{file} is written. Names, addresses and serial numbers in it are not the real ones."
    shown = CliRunner().invoke(millrace, ["support", str(tmp_path / "b.tar.zst"), "--json"], catch_exceptions=False)
    assert [part["name"] for part in json.loads(shown.stdout)["parts"]] == ["a.txt", "b.txt"]


def test_contents_are_listed_without_an_archive(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "millrace.observe.support.parts.parts", lambda: [ArchivePart("b.txt", "second", dict().popitem)]
    )
    said = CliRunner().invoke(millrace, ["support", "--list", "--json"], catch_exceptions=False).stdout
    assert json.loads(said)["files"] == [{"name": "b.txt", "what": "second"}]


def test_archive_on_standard_output_is_whole_and_nothing_else(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    real_zstd(monkeypatch)
    monkeypatch.setattr("millrace.observe.support.parts.parts", lambda: [planted("a.txt")])
    before = sorted(os.listdir(paths.run_dir()))
    printed = CliRunner().invoke(millrace, ["support", "-"], catch_exceptions=False).stdout_bytes
    unpacked = subprocess.run(["zstd", "-dc"], input=printed, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(unpacked)) as archive:
        assert archive.getnames() == ["a.txt"]
    # nothing of it stays in memory
    assert sorted(os.listdir(paths.run_dir())) == before


@pytest.mark.parametrize("words", [[], ["a.tar.zst", "--list"], ["-", "--json"]])
def test_file_and_list_exclude_each_other(box: Box, words: list[str]) -> None:
    assert CliRunner().invoke(millrace, ["support", *words]).exit_code == 2
