# SPDX-License-Identifier: Apache-2.0
import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

import pytest

from millrace.lifecycle.update import layout, update_paths
from millrace.lifecycle.update.model import Kind, Release, ReleaseFile, Serving
from millrace.system import paths
from millrace.system.run import Result
from tests.fakes.commands import GOOD, Commands
from tests.fakes.jobs import JOBS

ESP = "boot/EFI/Linux"
ROOTHASH = "0123456789abcdef" * 4
KEY = "the owner's key"
WELL = Serving(pool=True, arrays={"log": 2, "data": 8}, nfs=True, smb=True, exported=["/srv/pool/models"], console=True)


class Server(Commands):
    """A server with version 0.1.0, a boot drive, and a key for updates; `serving` is how it serves."""

    TAKEN: ClassVar[Iterable[str]] = (
        "bootctl --print-boot-path",
        "gpgv --status-fd 1 --keyring * [--keyring] [/*] * *",
        "systemctl is-active --quiet *",
        *JOBS,
        "systemctl show --property=ActiveState --value *",
        "systemctl start millrace-update-fetch.service",
        "systemctl stop millrace-update-fetch.service",
        "systemctl stop millrace-update-download.service",
        "systemctl start millrace-trial.service",
        "systemctl --no-block reboot",
        "systemctl list-jobs --no-legend --plain",
        "systemctl is-system-running",
        "systemctl stop millrace-planned-reboot.timer millrace-planned-reboot.service",
        "systemd-run --quiet --collect --unit=millrace-planned-reboot --description=* --on-calendar=* "
        "--on-unit-inactive=300 --timer-property=AccuracySec=1s --property=ReadWritePaths=/run/millrace "
        "/usr/bin/millrace update reboot-planned",
        "shutdown -k --reboot * *",
        "shutdown -c",
        "/usr/lib/systemd/systemd-sysupdate update *",
        "/usr/lib/systemd/systemd-sysupdate vacuum",
    )

    def __init__(self, root: Path) -> None:
        super().__init__()
        self.root, self.serving = root, WELL
        self.active: set[str] = set()
        self.states: dict[str, str] = {}
        self.jobs = ""
        self.timer: str | None = None
        """When the planned reboot is carried out first."""
        self.stopping = False
        self.partial: set[str] = set()
        """The versions of which an attempt that was cut left a part."""
        self.written: dict[str, bytes] = {}
        (root / ESP).mkdir(parents=True)
        self.runs("0.1.0")
        self.entry("millrace_0.1.0.efi")
        self.file("etc/millrace/update-keys.pgp", KEY)
        self.file("proc/sys/kernel/random/boot_id", "5f0e\n")
        self.file("var/lib/millrace/config.json", '{"schema_version": 1, "revision": 7}')

    def file(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def runs(self, version: str) -> None:
        self.file("usr/lib/os-release", f"ID=millrace\nIMAGE_VERSION={version}\n")

    def entry(self, name: str) -> None:
        self.file(f"{ESP}/{name}", name)

    @property
    def entries(self) -> list[str]:
        return sorted(path.name for path in (self.root / ESP).iterdir())

    def measure(self, run: object) -> Serving:
        return self.serving

    def _bootctl(self, words: list[str], stdin: str) -> Result:
        return Result(0, "/boot\n", "")

    def _gpgv(self, words: list[str], stdin: str) -> Result:
        signature, signed = Path(words[-2]).read_text(), Path(words[-1]).read_bytes()
        keys = {Path(words[at + 1]).read_text() for at, word in enumerate(words) if word == "--keyring"}
        if "\n" not in signature:
            return Result(2, "[GNUPG:] NODATA 4\n", "no valid OpenPGP data found")
        key, _, digest = signature.partition("\n")
        if key not in keys:
            return Result(2, "[GNUPG:] ERRSIG 1 2 3\n[GNUPG:] NO_PUBKEY 1\n", "")
        good = digest == hashlib.sha256(signed).hexdigest()
        return (
            Result(0, "[GNUPG:] GOODSIG 1\n[GNUPG:] VALIDSIG 1\n", "") if good else Result(1, "[GNUPG:] BADSIG 1\n", "")
        )

    def _systemctl(self, words: list[str], stdin: str) -> Result:
        if words[0] == "list-jobs":
            return Result(0, self.jobs, "")
        if words[-1] == "reboot":
            self.stopping = True
        if words[0] == "is-system-running":
            return Result(1, "stopping\n", "") if self.stopping else Result(0, "running\n", "")
        if words[0] == "stop" and words[1].startswith("millrace-update-"):
            return GOOD
        if words[0] == "stop":
            timer, self.timer = self.timer, None
            return GOOD if timer else Result(5, "", f"Failed to stop {words[1]}: Unit {words[1]} not loaded.")
        if words[0] == "start" and self.stopping:
            return Result(1, "", "Requested transaction contradicts existing jobs: Transaction is destructive.")
        if words[0] == "show" and "--value" in words:
            return Result(0, self._state(words[-1]).removeprefix("ActiveState=") + "\n", "")
        if words[0] == "show":
            return Result(0, "\n\n".join(f"Id={unit}\n{self._state(unit)}\nJob=0" for unit in words[2:]) + "\n", "")
        return GOOD if words[0] != "is-active" or words[-1] in self.active else Result(3, "", "")

    def _state(self, unit: str) -> str:
        # of a oneshot unit that runs systemd says "activating", never "active"
        return f"ActiveState={self.states.get(unit, 'activating' if unit in self.active else 'inactive')}"

    def _systemd_run(self, words: list[str], stdin: str) -> Result:
        if self.timer:
            return Result(
                1, "", "Failed to start transient timer unit: Unit was already loaded or has a fragment file."
            )
        self.timer = next(word.partition("=")[2] for word in words if word.startswith("--on-calendar="))
        return GOOD

    def _journalctl(self, words: list[str], stdin: str) -> Result:
        return Result(0, "millrace: version 0.2.0 is staged no more\n", "")

    def _systemd_sysupdate(self, words: list[str], stdin: str) -> Result:
        """As in sysupdate-transfer.c and sysupdate.c of systemd 262."""
        if words[0] == "vacuum":
            self.partial.clear()
            return GOOD
        if words[1] in self.partial:
            return Result(
                1, "", f"Selected update '{words[1]}' is already acquired and partially installed. Vacuum it to"
            )
        self.written = {path.name: path.read_bytes() for path in update_paths.staged_dir().iterdir()}
        self.entry(f"millrace_{words[1]}+3-0.efi")
        return GOOD


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Server:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    return Server(tmp_path)


def make_release(directory: Path, version: str = "0.2.0", key: str = KEY, expires: str | None = None) -> Path:
    """A release as the build makes one, with small files."""
    directory.mkdir(parents=True, exist_ok=True)
    contents: dict[Kind, bytes] = {
        "usr": b"usr" * 99,
        "usr-verity": b"verity" * 9,
        "kernel": b"kernel" * 9,
        "news": f"# Millrace\n\n## {version}\n\nFaster.\n".encode(),
    }
    files = []
    for kind, content in contents.items():
        name = layout.file_name(kind, version, ROOTHASH)
        (directory / name).write_bytes(content)
        files.append(ReleaseFile(kind=kind, name=name, size=len(content)))
    release = Release(image=layout.IMAGE, version=version, files=files, expires=expires)
    (directory / layout.RELEASE).write_text(release.model_dump_json())
    sign(directory, key)
    return directory


def sign(directory: Path, key: str = KEY) -> None:
    """Sign what is in a release now."""
    names = sorted(path.name for path in directory.iterdir() if path.name not in (layout.SUMS, layout.SIGNATURE))
    sums = "".join(f"{hashlib.sha256((directory / name).read_bytes()).hexdigest()}  {name}\n" for name in names)
    (directory / layout.SUMS).write_text(sums)
    (directory / layout.SIGNATURE).write_text(f"{key}\n{hashlib.sha256(sums.encode()).hexdigest()}")
