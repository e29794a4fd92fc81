# SPDX-License-Identifier: Apache-2.0
"""A suite that no package brings comes from where the user says, or is refused with what to do."""

import io
import shutil
import subprocess
import tarfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from host.suites import sources
from millrace.system.errors import Refused

Run = subprocess.CompletedProcess[str]


def test_without_a_checkout_of_pynfs_it_is_said_where_that_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(sources.PYNFS, raising=False)
    with pytest.raises(Refused, match=r"no package registry\. Set MILLRACE_PYNFS .*git\.linux-nfs\.org"):
        sources.pynfs()
    monkeypatch.setenv(sources.PYNFS, str(tmp_path))
    with pytest.raises(Refused, match=rf"^{tmp_path} has no nfs4\.1/testserver\.py\. Set MILLRACE_PYNFS"):
        sources.pynfs()


def test_checkout_is_packed_without_what_git_and_a_build_left(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in (
        "nfs4.1/testserver.py",
        ".git/config",
        "nfs4.1/build/lib/x.py",
        "nfs4.1/__pycache__/x.pyc",
        "setup.py",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    monkeypatch.setenv(sources.PYNFS, str(tmp_path))
    with tarfile.open(fileobj=io.BytesIO(sources.pynfs())) as archive:
        assert {name for name in archive.getnames() if archive.getmember(name).isfile()} == {
            "./nfs4.1/testserver.py",
            "./setup.py",
        }


def with_cargo(monkeypatch: pytest.MonkeyPatch, path: str | None) -> None:
    monkeypatch.setattr(shutil, "which", lambda program: path if program == "cargo" else None)


def test_pjdfstest_is_built_once_in_the_release_of_the_table(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    calls = []

    def run(argv: Sequence[str]) -> Run:
        calls.append(list(argv))
        program = Path(argv[argv.index("--root") + 1]) / "bin/pjdfstest"
        program.parent.mkdir(parents=True)
        program.write_text("program")
        return Run(argv, 0, "", "")

    with_cargo(monkeypatch, "/usr/bin/cargo")
    first, again = sources.pjdfstest(tmp_path, run), sources.pjdfstest(tmp_path, run)
    assert first == again == tmp_path / "pjdfstest-0.2.2/bin/pjdfstest"
    assert first.read_text() == "program"
    assert [argv[:6] for argv in calls] == [["cargo", "install", "pjdfstest", "--version", "0.2.2", "--locked"]]


def test_failed_build_of_pjdfstest_leaves_nothing_and_says_what_cargo_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with_cargo(monkeypatch, "/usr/bin/cargo")
    with pytest.raises(Refused, match=r"\(error: linker `cc` not found\)\. It needs cargo 1\.85 or newer, gcc"):
        sources.pjdfstest(tmp_path, lambda argv: Run(argv, 101, "", "Compiling\nerror: linker `cc` not found\n\n"))
    assert list(tmp_path.iterdir()) == []


def test_host_without_cargo_is_told_what_it_needs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with_cargo(monkeypatch, None)
    with pytest.raises(Refused, match=r"cargo 1\.85 or newer, gcc and libacl1-dev; this host has no cargo\.$"):
        sources.pjdfstest(tmp_path, lambda argv: Run(argv, 0, "", ""))
