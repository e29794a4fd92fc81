# SPDX-License-Identifier: Apache-2.0
"""The built image, unmodified, in virtual servers; the second VM is a plain Debian client."""

from pathlib import Path

import pytest

from host import layout, qemu
from vm import accel


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
