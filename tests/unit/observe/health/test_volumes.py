# SPDX-License-Identifier: Apache-2.0
"""A volume that should be exported and is not, or whose space others have taken, is a finding."""

from pathlib import Path
from uuid import UUID

import pytest

from millrace.observe.health.checks import volumes
from millrace.observe.health.host import Host
from millrace.observe.health.model import Level
from millrace.serve.volume.model import VolumeExport, VolumeList, VolumeRow
from millrace.system import paths
from millrace.system.documents import write_model
from tests.fakes.samples import Tools, pool

HOST = "nqn.2014-08.org.nvmexpress:uuid:11111111-2222-3333-4444-555555555555"


def row(allocated: int = 2 << 20, exported: bool = True) -> VolumeRow:
    uuid = UUID("0a1b2c3d-1111-4222-8333-944444444444")
    return VolumeRow(
        name="tank",
        uuid=uuid,
        nqn=f"nqn.2014-08.org.nvmexpress:uuid:{uuid}",
        size=2 << 20,
        allocated=allocated,
        origin=None,
        created="2026-11-24T12:00:00+00:00",
        by="root",
        export=VolumeExport(transport="tcp", port=4420, hosts=[HOST]) if exported else None,
        authenticated=False,
        addresses=[],
        connect=[],
        connected=[],
        problem=None,
    )


@pytest.fixture
def host(root_user: Path) -> Host:
    write_model(paths.pool_file(), pool())
    return Host(Tools(), uptime=lambda: 10_000.0)


def kernel(root: Path, one: VolumeRow, port: bool = True) -> None:
    """What nvmet shows of a volume that it serves."""
    place = root / "sys/kernel/config/nvmet"
    (place / f"subsystems/{one.nqn}/namespaces/1").mkdir(parents=True)
    (place / f"subsystems/{one.nqn}/namespaces/1/enable").write_text("1\n")
    (place / "ports/1/subsystems").mkdir(parents=True)
    if port:
        (place / f"ports/1/subsystems/{one.nqn}").mkdir()


def test_server_without_volumes_says_nothing(host: Host) -> None:
    assert volumes.check(host) == []


def test_volumes_that_are_served_are_counted(host: Host, root_user: Path) -> None:
    write_model(paths.volumes_file(), VolumeList(volumes=[row()]))
    kernel(root_user, row())
    [found] = volumes.check(host)
    assert (found.level, found.sentence) == (Level.OK, "1 volume, 1 exported.")


def test_volume_that_is_not_exported_fails(host: Host) -> None:
    write_model(paths.volumes_file(), VolumeList(volumes=[row()]))
    [found] = volumes.check(host)
    assert (found.level, found.subject) == (Level.FAIL, "tank")
    assert found.sentence == "Volume tank is not served: it is not exported."
    assert found.todo is not None
    assert "millrace-volumes.service" in found.todo


def test_volume_without_a_listener_fails(host: Host, root_user: Path) -> None:
    write_model(paths.volumes_file(), VolumeList(volumes=[row()]))
    kernel(root_user, row(), port=False)
    [found] = volumes.check(host)
    assert found.sentence == "Volume tank is not served: it listens on no address."


def test_space_that_others_have_taken_is_a_warning_also_of_a_detached_volume(host: Host) -> None:
    write_model(paths.volumes_file(), VolumeList(volumes=[row(allocated=1 << 20, exported=False)]))
    [found] = volumes.check(host)
    assert (found.level, found.kind) == (Level.WARN, "space")
    assert found.sentence.startswith("Volume tank has 1.05 MB of its 2.1 MB allocated")
