# SPDX-License-Identifier: Apache-2.0
"""Shares are served by the settings of now: without the plan, without an inventory, and whatever cannot be read."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from millrace.serve.config.model import first_config
from millrace.serve.share.model import RenderReport
from millrace.serve.share.server import this_server
from millrace.storage.record.pool_file import load_pool
from millrace.system import paths
from millrace.system.run import Result
from tests.fakes import exportfs
from tests.fakes.files.box import POLICY, Box
from tests.fakes.files.running import server
from tests.fakes.samples import Tools


@pytest.fixture
def box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Box]:
    """A boot of a server whose plan is lost: `tune` has not run yet, and no inventory is there."""
    monkeypatch.setattr("millrace.storage.assemble.mounted_pool.verify", lambda system: load_pool())
    monkeypatch.setattr("millrace.serve.share.quota.enabled", lambda mountpoint: False)
    with server(tmp_path) as made:
        made.provision()
        for path in (paths.approved_plan_file(), paths.inventory_file(), paths.settings_file()):
            path.unlink()
        yield made


class ExportingTools(Tools):
    """Tools of which exportfs writes its table."""

    def _exportfs(self, words: list[str], stdin: str) -> Result:
        exportfs.write_table(paths.ROOT, exportfs.exports(paths.ROOT, "millrace.exports"))
        return Result(0, "", "")


def render() -> RenderReport:
    return replace(this_server(), run=ExportingTools()).apply(first_config())


def environment(box: Box) -> dict[str, str]:
    lines = (box.root / "run/millrace/nfsd.env").read_text().splitlines()
    return dict(line.removeprefix("MILLRACE_NFSD_").split("=") for line in lines)


def test_server_without_its_plan_serves_as_before(box: Box) -> None:
    assert not [one for one in render().warnings if "settings" in one]
    assert environment(box) == {"THREADS_MIN": "8", "THREADS_MAX": "16", "POOL_MODE": "pernode", "BLOCK": "1048576"}
    assert "10.77.0.0/24" in (box.root / "etc/exports.d/millrace.exports").read_text()
    assert "ens1np0" in (box.root / "etc/samba/smb.conf").read_text()


def test_changed_policy_is_served_by_at_the_next_boot(box: Box) -> None:
    paths.policy_file().write_text(POLICY + "[nfsd]\nmax_block_size = 524288\nthreads = 40\n")
    render()
    assert environment(box) == {"THREADS_MIN": "8", "THREADS_MAX": "40", "POOL_MODE": "pernode", "BLOCK": "524288"}


def test_credits_of_the_policy_are_in_smb_conf(box: Box) -> None:
    paths.policy_file().write_text(POLICY + "[smbd]\nmax_credits = 1024\naio_min_bytes = 65536\n")
    render()
    lines = (box.root / "etc/samba/smb.conf").read_text().splitlines()
    assert {"smb2 max credits = 1024", "aio read size = 65536", "aio write size = 65536"} <= set(lines)


def test_server_whose_hardware_cannot_be_read_serves_with_the_last_settings_and_reports_it(box: Box) -> None:
    (box.root / "proc/meminfo").unlink()
    [warning] = [one for one in render().warnings if "settings" in one]
    assert "cannot be computed" in warning and "stay in force" in warning
    assert environment(box)["THREADS_MAX"] == "16"


def test_policy_switches_localio_off_before_the_kernel_loads_its_client(box: Box) -> None:
    options = box.root / "etc/modprobe.d/millrace-nfs.conf"
    render()
    assert not options.exists()
    paths.policy_file().write_text(POLICY + "[nfsd]\nlocalio = false\n")
    render()
    assert options.read_text() == "options nfs localio_enabled=N\n"
    paths.policy_file().write_text(POLICY)
    render()
    assert not options.exists()
