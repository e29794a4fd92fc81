# SPDX-License-Identifier: Apache-2.0
"""On a fresh Debian host the tools install what is missing; where they cannot, one sentence names it."""

import os
import subprocess
from pathlib import Path

import pytest

ENTER = Path(__file__).parents[3] / "tools/host/enter"


class Host:
    """A host whose id, sudo, dpkg-query and apt-get are scripts of this test."""

    def __init__(self, root: Path) -> None:
        self.programs = root / "bin"
        self.programs.mkdir()
        self.cache = root / "cache"
        self.has("id", "echo 0")
        self.has("dpkg-query", "echo installed")

    def has(self, name: str, body: str) -> None:
        path = self.programs / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)

    def has_environment(self) -> None:
        """Let the Python environment be there, with a Python that says what it is asked."""
        self.has("sha256sum", "echo 0123456789abcdef")
        environment = self.cache / "millrace/venv-0123456789abcdef"
        (environment / "bin").mkdir(parents=True)
        (environment / "complete").touch()
        (environment / "bin/python").write_text('#!/bin/sh\necho "$@"\n')
        (environment / "bin/python").chmod(0o755)

    def enter(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {
            "PATH": f"{self.programs}:{os.environ['PATH']}",
            "XDG_CACHE_HOME": str(self.cache),
        }
        return subprocess.run(
            [str(ENTER), *arguments], env=environment, capture_output=True, text=True, check=False, timeout=60
        )


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def test_without_root_sudo_is_used_with_the_same_arguments(host: Host) -> None:
    host.has("id", "echo 1000")
    host.has("sudo", '[ "$1" = true ] || echo "$@"')
    done = host.enter("build", "--check")
    assert done.returncode == 0
    assert done.stdout.strip().endswith("host/enter build --check")


def test_a_sudo_that_refuses_is_one_sentence(host: Host) -> None:
    host.has("id", "echo 1000")
    host.has("sudo", "exit 1")
    done = host.enter("build")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "root is needed" in done.stderr


def test_checks_of_the_tree_need_neither_root_nor_packages(host: Host) -> None:
    host.has("id", "echo 1000")
    host.has("sudo", "exit 1")
    host.has("dpkg-query", "echo none")
    host.has("apt-get", "exit 100")
    host.has_environment()
    done = host.enter("lint", "shell")
    assert (done.returncode, done.stdout, done.stderr) == (0, "-m host.lint shell\n", "")


def test_a_tool_that_cannot_be_installed_is_named(host: Host) -> None:
    host.has("dpkg-query", 'for last; do :; done; [ "$last" != ovmf ] && echo installed')
    host.has("apt-get", "exit 100")
    done = host.enter("build")
    assert done.returncode == 1
    assert done.stderr.startswith("millrace: ovmf cannot be installed")
    assert done.stderr.count("\n") == 1


def test_package_lists_are_updated_only_where_the_first_try_failed(host: Host, tmp_path: Path) -> None:
    log, marker = tmp_path / "apt", tmp_path / "updated"
    host.has("dpkg-query", f'for last; do :; done; [ "$last" != ovmf ] || [ -e {tmp_path}/ovmf ] && echo installed')
    host.has(
        "apt-get",
        f'echo "$@" >>{log}\n'
        f"case $1 in\n"
        f"update) touch {marker} ;;\n"
        f"install) [ -e {marker} ] && touch {tmp_path}/ovmf ;;\n"
        f"esac",
    )
    host.has_environment()
    assert host.enter("build", "--check").stdout.splitlines()[-1] == "-m host.build --check"
    assert [line.split()[0] for line in log.read_text().splitlines()] == ["install", "update", "install"]


def test_host_other_than_debian_is_refused(host: Host, tmp_path: Path) -> None:
    only = tmp_path / "only"
    only.mkdir()
    for name in ("dirname", "sh"):
        only.joinpath(name).symlink_to(f"/usr/bin/{name}")
    only.joinpath("id").symlink_to(host.programs / "id")
    done = subprocess.run([str(ENTER), "build"], env={"PATH": str(only)}, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "Debian 12 or 13" in done.stderr
