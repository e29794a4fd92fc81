# SPDX-License-Identifier: Apache-2.0
"""One small server without a client, for the stories of drives that die and are replaced."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.vm.box import Box, credentials
from tests.vm.servers import server_named
from vm.accel import Accel
from vm.appliance import appliance
from vm.server import Drive, Server

FIVE = server_named("5equal")
# Too small for the pool: its bay is free for a drive that is copied to.
SMALL = dataclasses.replace(FIVE.drives[0], serial="MRS00000000001", size=FIVE.drives[0].size // 4)
SERVER = dataclasses.replace(FIVE, drives=(*FIVE.drives, SMALL))
# A mirror.
PAIR = dataclasses.replace(FIVE, drives=FIVE.drives[:2])
MD = "/sys/class/block/$(basename $(readlink -f /dev/md/millrace-data))/md"
# The share that is there from the beginning.
EXPORT = "/srv/pool/data"


def new_drive(serial: str) -> Drive:
    """A drive as large as those of the pool."""
    return dataclasses.replace(FIVE.drives[0], serial=serial)


@contextmanager
def serving(
    server: Server,
    image: Path,
    accelerator: Accel,
    directory: Path,
    *,
    cmdline: Sequence[str] = (),
    forwards: Mapping[int, int] | None = None,
    links: Sequence[str] | None = None,
    log_writes: bool = False,
    policy: str = "",
) -> Iterator[Box]:
    """A server with its pool; health is checked seldom, and when a story starts a check.

    Without `links` it has no client. `policy` is added to the policy of all servers.
    """
    given = credentials(millrace__provision=b"auto")
    given["millrace.policy"] += policy.encode()
    machine = appliance(
        server,
        image,
        directory,
        accelerator,
        credentials=given,
        cmdline=cmdline,
        forwards=forwards,
        links=links,
        log_writes=log_writes,
    )
    with machine:
        machine.start()
        box = Box(machine)
        box.machine.wait_agent()
        box.wait_serving()
        yield box


@pytest.fixture(scope="package")
def box(image: Path, accelerator: Accel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    with serving(SERVER, image, accelerator, tmp_path_factory.mktemp("drives")) as box:
        yield box


@pytest.fixture(scope="package")
def pair(image: Path, accelerator: Accel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    """A server whose pool is a mirror of two drives."""
    with serving(PAIR, image, accelerator, tmp_path_factory.mktemp("pair")) as box:
        yield box
