# SPDX-License-Identifier: Apache-2.0
import os
import shutil
from pathlib import Path

import pytest

from millrace.serve.certificate import renew
from millrace.system import paths
from tests.unit.serve.certificate.server import Authority, Server


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Server:
    """A server with a name and an address, run by root, that boots for the first time."""
    return _server(tmp_path / "server", monkeypatch)


@pytest.fixture
def server(first_boot: Path, bare: Server) -> Server:
    """The same after its first boot."""
    shutil.copytree(first_boot / "var", bare.root / "var", symlinks=True)
    shutil.copytree(first_boot / "etc", bare.root / "etc", symlinks=True)
    return bare


@pytest.fixture
def site(site_made: Path, tmp_path: Path) -> Authority:
    """A site's authority with an intermediate."""
    shutil.copytree(site_made, tmp_path / "site")
    return Authority(tmp_path / "site")


@pytest.fixture(scope="session")
def first_boot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a first boot leaves, made once: keys take their time."""
    root = tmp_path_factory.mktemp("first") / "server"
    with pytest.MonkeyPatch.context() as patch:
        renew.ensure(_server(root, patch).ports)
    return root


@pytest.fixture(scope="session")
def site_made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("site") / "site"
    directory.mkdir()
    Authority(directory).make()
    return directory


def _server(root: Path, monkeypatch: pytest.MonkeyPatch) -> Server:
    root.mkdir()
    monkeypatch.setattr(paths, "ROOT", root)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return Server(root, monkeypatch)
