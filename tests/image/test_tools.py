# SPDX-License-Identifier: Apache-2.0
"""The tools of an administrator start in the image, and nothing of theirs runs by itself."""

from pathlib import Path

import pytest

from tests.image.test_image import chroot

TOOLS = ("getfacl", "setfacl", "iperf3", "nano", "rsync", "iostat", "mpstat", "pidstat", "tcpdump")
WITHOUT_VERSION = ("nfs4_getfacl", "nfs4_setfacl")


@pytest.mark.parametrize("tool", TOOLS)
def test_tool_of_an_administrator_starts(tree: Path, tool: str) -> None:
    # sysstat's take -V alone
    option = "-V" if tool in ("iostat", "mpstat", "pidstat") else "--version"
    done = chroot(tree, f"/usr/bin/{tool}", option)
    assert done.returncode == 0, done.stderr


def test_tools_of_nfs4_acls_are_there(tree: Path) -> None:
    assert [tool for tool in WITHOUT_VERSION if not (tree / "usr/bin" / tool).exists()] == []


def test_editor_of_the_policy_is_one_that_click_finds(tree: Path) -> None:
    asked = "import click._termui_impl as click; print(click.Editor().get_editor())"
    done = chroot(tree, "/usr/bin/python3", "-c", asked)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() in ("nano", "sensible-editor")


def test_nothing_of_the_tools_is_enabled(factory: Path) -> None:
    links = {path.name for path in (factory / "systemd/system").rglob("*") if path.is_symlink()}
    assert not {name for name in links if name.startswith(("sysstat", "iperf3", "rsync"))}
