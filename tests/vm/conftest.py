# SPDX-License-Identifier: Apache-2.0
"""The built image, unmodified, in virtual servers; the second VM is a plain Debian client."""

from pathlib import Path

import pytest

from host import layout, qemu
from tests.vm import given_up
from tests.vm.answers import pytest_runtest_call, pytest_runtest_makereport
from vm import accel

__all__ = ["pytest_runtest_call", "pytest_runtest_makereport"]


@pytest.fixture(scope="session")
def image() -> Path:
    return next(layout.OUTPUT.glob("millrace_*_x86-64.raw"))


@pytest.fixture(scope="session")
def accelerator() -> accel.Accel:
    loader = next(layout.OUTPUT.glob("millrace_*_x86-64.efi"))
    return accel.choose(loader, layout.cache_root() / "accel", qemu=qemu.command(layout.caches()))


@pytest.fixture(scope="session")
def client_images() -> Path:
    return layout.CLIENT_OUTPUT


@pytest.fixture(scope="session")
def unstartable(image: Path, tmp_path_factory: pytest.TempPathFactory) -> given_up.Unstartable:
    """A release whose kernel panics."""
    return given_up.made(image, tmp_path_factory.mktemp("unstartable"))
