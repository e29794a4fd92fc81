# SPDX-License-Identifier: Apache-2.0
"""restic, as systemd-run starts it: one that knows what Millrace asks of it, and the real one where there is a binary.

The lines are those of restic 0.19.1.
"""

import json
import os
import stat
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

from millrace.system.run import Result

START = ["systemd-run", "--quiet", "--collect", "--wait", "--pipe", "--service-type=exec", "--expand-environment=no"]
LOCK = """{
  "time": "%s",
  "exclusive": false,
  "hostname": "%s",
  "username": "%s",
  "pid": 18066
}
"""
WRONG = '{"message_type":"exit_error","code":12,"message":"Fatal: wrong password or no key found"}'
DAMAGED = (
    '{"message_type":"error","error":{"message":"decrypting blob <data/3920eefc> from pack a2f7b4b3 failed: ciphertext '
    'verification failed"},"during":"restore","item":"/srv/backup/tree/set/one"}\n'
    '{"message_type":"exit_error","code":1,"message":"Fatal: There were 1 errors"}'
)
CHECKED = (
    '{"message_type":"summary","num_errors":%d,"broken_packs":null,"suggest_repair_index":false,"suggest_prune":false}'
)


class Started:
    """What systemd-run was asked for."""

    def __init__(self, argv: Sequence[str]) -> None:
        assert list(argv[: len(START)]) == START, argv
        rest = list(argv[len(START) :])
        assert rest[0].startswith("--unit=millrace-restic-") and rest[1].startswith("--description=")
        self.unit = rest[0].removeprefix("--unit=")
        end = rest.index("/usr/bin/restic")
        assert all(word.startswith("--property=") for word in rest[2:end])
        self.properties = [word.removeprefix("--property=") for word in rest[2:end]]
        self.words = rest[end + 1 :]

    def of(self, name: str) -> list[str]:
        """The values of a property."""
        return [value for key, _, value in (each.partition("=") for each in self.properties) if key == name]

    def place(self, path: str) -> Path:
        """Where a path of restic is on this host."""
        binds = [each.partition(":") for name in ("BindPaths", "BindReadOnlyPaths") for each in self.of(name)]
        for source, _, goal in binds:
            if goal and (path == goal or path.startswith(f"{goal}/")):
                return Path(source + path.removeprefix(goal))
        raise AssertionError(f"restic does not see {path}")

    def credential(self, path: str) -> Path:
        """Where a credential comes from."""
        given = dict(each.split(":", 1) for each in self.of("LoadCredential"))
        assert path.startswith(f"/run/credentials/{self.unit}.service/"), path
        return Path(given[path.rpartition("/")[2]])


@dataclass
class Kept:
    """A file in the repository."""

    mtime: int
    content: bytes


@dataclass
class Version:
    """A snapshot of restic."""

    id: str
    tags: list[str]
    files: dict[str, Kept]
    original: str | None = None


@dataclass
class FakeRestic:
    """A repository in memory. `locks` are host, user and time; `answers` end a command in another way."""

    password: str | None = None
    versions: list[Version] = field(default_factory=list)
    locks: list[tuple[str, str, str]] = field(default_factory=list)
    answers: dict[str, Result] = field(default_factory=dict)
    commands: list[list[str]] = field(default_factory=list)
    started: list[Started] = field(default_factory=list)
    read: list[str] = field(default_factory=list)
    damaged: bool = False
    unread: list[str] = field(default_factory=list)
    during: Callable[[str], None] = lambda _: None

    def __call__(self, argv: Sequence[str], line: Callable[[str], None]) -> Result:
        """Run a command as systemd-run would."""
        started = Started(argv)
        self.started.append(started)
        words = list(started.words)
        assert words[:2] == ["--json", "--repository-file"] and words[3] == "--password-file", words
        assert started.credential(words[2]).read_text().strip()
        password = started.credential(words[4]).read_text().strip()
        assert words[5:7] == ["--cache-dir", "/srv/cache"] and started.place("/srv/cache").is_dir()
        words = words[7:]
        while words[0] in ("--cacert", "-o", "--limit-upload"):
            words = words[2:]
        self.commands.append(words)
        self.during(words[0])
        if words[0] in self.answers:
            result = self.answers[words[0]]
        elif words[0] == "init":
            assert self.password is None
            self.password = password
            result = Result(0, '{"message_type":"initialized","id":"69c5b21e","repository":"repo"}\n', "")
        elif self.password is None:
            said = "Fatal: repository does not exist: unable to open config file: stat /x/config: no such file"
            result = Result(10, json.dumps({"message_type": "exit_error", "code": 10, "message": said}), "")
        elif password != self.password:
            result = Result(12, WRONG, "")
        else:
            result = getattr(self, f"_{words[0]}")(words[1:], started)
        for text in result.out.splitlines():
            line(text)
        return result

    def _list(self, words: list[str], _: Started) -> Result:
        assert words == ["locks", "--no-lock"]
        return Result(0, "".join(f"{number:064x}\n" for number, _ in enumerate(self.locks)), "")

    def _cat(self, words: list[str], _: Started) -> Result:
        assert words[0] == "lock" and words[2:] == ["--no-lock"]
        return Result(0, LOCK % (self.locks[int(words[1], 16)][2], *self.locks[int(words[1], 16)][:2]), "")

    def _unlock(self, words: list[str], _: Started) -> Result:
        assert words == []
        self.locks.clear()
        return Result(0, "", "")

    def _snapshots(self, words: list[str], _: Started) -> Result:
        assert words == ["--tag", "millrace", "--no-lock"]
        return Result(
            0, json.dumps([self._listed(number, each) for number, each in enumerate(self.versions)]) + "\n", ""
        )

    def _listed(self, number: int, version: Version) -> dict[str, object]:
        sizes = sum(len(each.content) for each in version.files.values())
        listed: dict[str, object] = {
            "time": f"2026-11-30T11:10:{number:02}.976228427Z",
            "paths": ["/srv/backup"],
            "hostname": "millrace",
            "tags": version.tags,
            "id": version.id,
            "summary": {"total_files_processed": len(version.files), "total_bytes_processed": sizes},
        }
        return listed | ({"original": version.original} if version.original else {})

    def _rewrite(self, words: list[str], started: Started) -> Result:
        assert words[1] == "--exclude-file" and len(words) == 3
        origin = self._version(words[0])
        patterns = started.place(words[2]).read_text().splitlines()
        files = {
            path: kept
            for path, kept in origin.files.items()
            if not any(fnmatchcase(path, pattern) for pattern in patterns)
        }
        self._keep([*origin.tags, "rewrite"], files, origin.id)
        return Result(0, "\nmodified 1 snapshots\n", "")

    def _backup(self, words: list[str], started: Started) -> Result:
        assert words[:2] == ["--host", "millrace"] and words[-1] == "/srv/backup"
        tags = [value for option, value in pairwise(words) if option == "--tag"]
        before: dict[str, Kept] = {}
        if "--parent" in words:
            assert words[words.index("--parent") + 2 : -1] == ["--ignore-ctime", "--ignore-inode"]
            before = self._version(words[words.index("--parent") + 1]).files
        else:
            assert words[-2] == "--force"
        files, self.read, sent = dict[str, Kept](), [], 0
        for path in _walked(started.place("/srv/backup")):
            state = path.lstat()
            name = "/srv/backup/" + str(path.relative_to(started.place("/srv/backup")))
            if name in self.unread:
                continue
            known = before.get(name)
            if known is not None and (known.mtime, len(known.content)) == (state.st_mtime_ns, state.st_size):
                files[name] = known
                continue
            files[name] = Kept(state.st_mtime_ns, path.read_bytes())
            self.read.append(name)
            sent += state.st_size
        version = self._keep(tags, files)
        total = sum(len(each.content) for each in files.values())
        status = {"message_type": "status", "percent_done": 0.5, "total_bytes": total, "bytes_done": total // 2}
        summary = {
            "message_type": "summary",
            "files_new": len(self.read),
            "files_changed": 0,
            "files_unmodified": len(files) - len(self.read),
            "data_added_packed": sent,
            "total_files_processed": len(files),
            "total_bytes_processed": total,
            "total_duration": 4.2,
            "snapshot_id": version.id,
        }
        error = {"message": "permission denied"}
        errors = [{"message_type": "error", "error": error, "during": "archival", "item": each} for each in self.unread]
        said = "".join(f"{json.dumps(each)}\n" for each in (status, *errors, summary))
        return Result(3 if self.unread else 0, said, "")

    def _check(self, words: list[str], _: Started) -> Result:
        assert words == ["--read-data-subset", "10G"]
        if not self.damaged:
            return Result(0, CHECKED % 0, "")
        fatal = '{"message_type":"exit_error","code":1,"message":"Fatal: repository contains errors"}'
        return Result(1, f"{CHECKED % 1}\n{fatal}\n", "")

    def _forget(self, words: list[str], _: Started) -> Result:
        if len(words) == 1:
            self.versions.remove(self._version(words[0]))
            return Result(0, "", "")
        assert words[:6] == ["--tag", "millrace", "--group-by", "host", "--keep-last", "1"] and words[-1] == "--prune"
        return Result(0, "[]\n", "")

    def _dump(self, words: list[str], _: Started) -> Result:
        assert words[2:] == ["--no-lock"]
        return Result(0, self._version(words[0]).files[words[1]].content.decode(), "")

    def _restore(self, words: list[str], started: Started) -> Result:
        where, _, top = words[0].partition(":")
        target = words[words.index("--target") + 1]
        patterns = None
        if self.damaged:
            return Result(1, DAMAGED, "")
        if "--include-file" in words:
            assert top == "/srv/backup/tree" and words[-2:] == ["--exclude-xattr", "*"]
            patterns = started.place(words[words.index("--include-file") + 1]).read_text().splitlines()
        else:
            # with its owner and mode, and with access lists under their one name
            assert top == "/srv/backup" and words[1:3] == ["--include", "/tree"]
            excluded = ["trusted.SGI_ACL_FILE", "--exclude-xattr", "trusted.SGI_ACL_DEFAULT"]
            assert words[-4:] == ["--exclude-xattr", *excluded]
            patterns = ["/tree/*"]
        for path, kept in self._version(where).files.items():
            if not path.startswith(f"{top}/"):
                continue
            inner = path.removeprefix(top)
            if patterns is None or any(fnmatchcase(inner, pattern) for pattern in patterns):
                goal = started.place(target + inner)
                goal.parent.mkdir(parents=True, exist_ok=True)
                goal.write_bytes(kept.content)
                os.utime(goal, ns=(kept.mtime, kept.mtime))
        return Result(0, '{"message_type":"summary","total_files":2,"files_restored":2}\n', "")

    def _keep(self, tags: list[str], files: dict[str, Kept], original: str | None = None) -> Version:
        name = sha256(f"{len(self.versions)} {tags} {sorted(files)}".encode()).hexdigest()
        self.versions.append(Version(name, tags, files, original))
        return self.versions[-1]

    def _version(self, name: str) -> Version:
        return next(each for each in self.versions if each.id == name)


@dataclass
class RealRestic:
    """The real program with a repository in a directory, in a mount namespace that has the paths of the unit."""

    program: str
    repository: Path
    commands: list[list[str]] = field(default_factory=list)

    def __call__(self, argv: Sequence[str], line: Callable[[str], None]) -> Result:
        """Run restic with what systemd would give it."""
        started = Started(argv)
        credentials = f"/run/credentials/{started.unit}.service"
        steps = ["set -e", "mount -t tmpfs none /srv", "mount -t tmpfs none /run", f"mkdir -p {credentials}"]
        with TemporaryDirectory() as given:
            for each in started.of("LoadCredential"):
                name, _, path = each.partition(":")
                content = Path(path).read_bytes()
                (Path(given) / name).write_bytes(f"{self.repository}\n".encode() if name == "repository" else content)
            steps += [f"mount --bind {given} {credentials}"]
            for each in (*started.of("BindPaths"), *started.of("BindReadOnlyPaths")):
                source, _, goal = each.partition(":")
                if not goal:
                    continue
                make = f"mkdir -p {goal}" if Path(source).is_dir() else f"mkdir -p $(dirname {goal}); touch {goal}"
                steps += [make, f"mount --bind {source} {goal}"]
            words = [word for word in started.words if word]
            self.commands.append(words[7:])
            steps += ['exec "$@"']
            done = subprocess.run(
                ["unshare", "--mount", "sh", "-c", "; ".join(steps), "sh", self.program, *words],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
                env={
                    "PATH": os.environ["PATH"],
                    "HOME": "/srv/cache",
                    "TMPDIR": "/srv/cache",
                    "RESTIC_PROGRESS_FPS": "1",
                },
            )
        for text in done.stdout.splitlines():
            line(text)
        return Result(done.returncode, done.stdout, "")


def _walked(top: Path) -> Iterator[Path]:
    for path in sorted(top.rglob("*")):
        if stat.S_ISREG(path.lstat().st_mode):
            yield path
