# SPDX-License-Identifier: Apache-2.0
"""One cable and one client, which outlive the servers of a story; a release to update to."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.vm.box import CLIENT_ADDRESSES, MTU
from tests.vm.lives.release import release
from vm.accel import Accel
from vm.client import client as client_machine
from vm.client import give_addresses
from vm.link import Cables
from vm.machine import Machine

__all__ = ["release"]


@pytest.fixture(scope="module")
def cables() -> Iterator[Cables]:
    with Cables(1) as one:
        yield one


@pytest.fixture(scope="module")
def client(
    client_images: Path, accelerator: Accel, cables: Cables, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Machine]:
    with client_machine(client_images, tmp_path_factory.mktemp("client"), cables.client_ends, accelerator) as machine:
        machine.start()
        give_addresses(machine, [f"{CLIENT_ADDRESSES[0]}/24"], MTU)
        yield machine
