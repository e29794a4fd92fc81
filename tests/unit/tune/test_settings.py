# SPDX-License-Identifier: Apache-2.0
"""Settings are computed from this boot's hardware, pool and policy; no plan and no inventory are needed for that."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from millrace.plan.policy.policy_in_force import last_good_file, save_last_good
from millrace.plan.settings import SettingsFile
from millrace.storage.record.model import Pool
from millrace.system import paths
from millrace.system.documents import read_model
from millrace.system.run import attempt
from millrace.tune import settings
from millrace.tune.verbs import tune
from tests.fakes.files.box import POLICY, Box
from tests.fakes.files.running import server

BLOCK = POLICY + "[nfsd]\nmax_block_size = 524288\n"


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    """A server whose pool was made from a plan that is lost, and whose inventory is not there yet."""
    with server(tmp_path) as made:
        made.provision()
        paths.approved_plan_file().unlink()
        paths.inventory_file().unlink()
        yield made


def pool() -> Pool:
    return read_model(paths.pool_file(), Pool)


def policy(text: str) -> None:
    paths.policy_file().write_text(text)


def boot() -> None:
    """What is in /run is gone."""
    paths.settings_file().unlink()


def full(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is below /var is on a boot drive without room."""
    write = settings.write_model

    def written(path: Path, document: SettingsFile) -> None:
        if path == paths.last_settings_file():
            raise OSError(28, "No space left on device", str(path))
        write(path, document)

    monkeypatch.setattr(settings, "write_model", written)


def apply() -> SettingsFile:
    """What `millrace tune` does with the settings."""
    found = settings.update(settings.current(pool()))
    settings.record(found)
    return found


def invoke(*words: str) -> Result:
    return CliRunner().invoke(tune, list(words), standalone_mode=False)


class TestComputed:
    def test_settings_without_plan_and_inventory_are_those_that_the_plan_had(self, box: Box) -> None:
        found = settings.current(pool())
        assert found.problem is None and found.settings == settings.in_force(pool())
        assert found.settings.nfsd.threads_max == 16 and found.settings.md.sync_speed_max == 4_000_000

    def test_nothing_changed_at_a_boot_of_the_same_server(self, box: Box) -> None:
        before = read_model(paths.last_settings_file(), SettingsFile)
        boot()
        found = apply()
        assert (found.changes, found.settings, found.problem) == ([], before.settings, None)
        assert read_model(paths.last_settings_file(), SettingsFile) == found

    def test_policy_that_cannot_be_read_keeps_the_last_good_one_in_force_aloud(self, box: Box) -> None:
        policy(BLOCK)
        save_last_good()
        policy("[nfsd")
        found = settings.current(pool())
        assert found.settings.nfsd.max_block_size == 524288
        assert found.problem is None and found.policy is not None and "stays in force" in found.policy

    def test_server_whose_hardware_cannot_be_read_keeps_the_settings_of_the_last_boot(self, box: Box) -> None:
        last = paths.last_settings_file().read_text()
        boot()
        (box.root / "proc/meminfo").unlink()
        found = apply()
        assert found.settings == settings.in_force(pool()) and found.settings.nfsd.threads_max == 16
        assert found.problem is not None and "those of 2026-11-20T12:00:00+00:00 stay in force" in found.problem
        # they are no new ones to compare the next boot with
        assert paths.last_settings_file().read_text() == last

    @pytest.mark.parametrize("text", ["", "{", '{"schema_version": 2}'])
    def test_first_boot_without_anything_that_can_be_read_serves_with_the_least(self, box: Box, text: str) -> None:
        boot()
        paths.last_settings_file().write_text(text)
        (box.root / "proc/meminfo").unlink()
        found = settings.current(pool())
        assert found.problem is not None and "those of the smallest server are in force" in found.problem
        assert (found.settings.nfsd.threads_max, found.settings.nfsd.max_block_size) == (16, 1 << 20)

    def test_policy_that_never_could_be_read_does_not_stop_the_server(self, box: Box) -> None:
        policy("[nfsd")
        assert not last_good_file().exists()
        assert settings.current(pool()).settings == settings.in_force(pool())


class TestPorts:
    def late(self, box: Box, after: int) -> list[float]:
        """A boot in which the port of node 1 comes after so many seconds; return what was waited."""
        port = box.root / "sys/class/net/ens2np0"
        target = port.readlink()
        port.unlink()
        waited: list[float] = []

        def pause(seconds: float) -> None:
            waited.append(seconds)
            if len(waited) == after:
                port.symlink_to(target)

        self.found = settings.at_boot(pool(), attempt, pause)
        return waited

    def test_port_that_comes_late_is_waited_for_as_nfsd_cannot_change_its_pools_later(self, box: Box) -> None:
        boot()
        assert self.late(box, after=3) == [1.0] * 3
        assert self.found.settings.nfsd.pool_mode == "pernode"

    def test_port_that_was_taken_out_delays_one_boot_by_seconds(self, box: Box) -> None:
        boot()
        assert sum(self.late(box, after=100)) == 15
        assert self.found.settings.nfsd.pool_mode == "global"
        changes = {one.name: one for one in apply().changes}
        assert changes["nfsd.pool_mode"].causes == ["hardware"]
        boot()
        waited: list[float] = []
        settings.at_boot(pool(), attempt, waited.append)
        assert waited == []

    def test_nothing_is_waited_for_while_the_server_serves(self, box: Box) -> None:
        assert self.late(box, after=3) == []


class TestVerb:
    def test_diff_names_a_changed_policy_before_it_is_in_force_and_after(self, box: Box) -> None:
        policy(BLOCK)
        [before] = json.loads(invoke("--diff", "--json").output)["changes"]
        assert (before["name"], before["before"], before["after"], before["at"]) == (
            "nfsd.max_block_size",
            1 << 20,
            524288,
            None,
        )
        assert before["causes"] == ["policy"] and "nfsd.max_block_size" in before["reason"]
        assert "1 MiB -> 512 KiB (policy), not in force yet: millrace tune: Set by" in invoke("--diff").output
        apply()
        [after] = json.loads(invoke("--diff", "--json").output)["changes"]
        assert after == before | {"at": "2026-11-20T12:00:00+00:00"}
        boot()
        apply()
        assert json.loads(invoke("--diff", "--json").output)["changes"] == []

    def test_diff_writes_nothing(self, box: Box) -> None:
        policy(BLOCK)
        kept = {path: path.read_text() for path in (paths.settings_file(), paths.last_settings_file())}
        invoke("--diff")
        assert {path: path.read_text() for path in kept} == kept

    def test_change_that_is_taken_back_in_the_same_boot_is_none(self, box: Box) -> None:
        policy(BLOCK)
        assert len(apply().changes) == 1
        policy(POLICY)
        assert apply().changes == []

    def test_boot_drive_that_is_full_has_what_an_unchanged_server_needs(
        self, box: Box, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        boot()
        full(monkeypatch)
        assert settings.record(settings.update(settings.current(pool()))) is None
        assert paths.settings_file().exists()

    def test_change_is_in_force_although_the_boot_drive_is_full(
        self, box: Box, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        policy(BLOCK)
        full(monkeypatch)
        failed = str(invoke().exception)
        assert failed.startswith("the settings are in force, but the boot drive does not take their record: ")
        assert "No space left on device" in failed
        assert read_model(paths.settings_file(), SettingsFile).changes

    def test_settings_in_force_are_listed_with_their_reasons(self, box: Box) -> None:
        said = invoke("--settings").output
        assert said.splitlines()[0] == "Settings of release 0.1.0, in force since 2026-11-20 12:00 UTC"
        assert said.splitlines()[1].split() == ["Setting", "Value", "Reason"]
        assert re.search(r"^nfsd.max_block_size +1 MiB +Linux clients use at most 1 MiB", said, re.MULTILINE)
        values = json.loads(invoke("--settings", "--json").output)["settings"]["values"]
        assert all(one["reason"] and one["source"] for one in values)

    def test_settings_are_refused_before_there_are_any(self, box: Box) -> None:
        boot()
        paths.last_settings_file().unlink()
        assert "no settings were computed yet" in str(invoke("--settings").exception)

    def test_first_boot_of_a_release_that_records_settings_compares_with_the_plan(self, tmp_path: Path) -> None:
        with server(tmp_path) as box:
            box.provision()
            for path in (paths.settings_file(), paths.last_settings_file()):
                path.unlink()
            assert apply().changes == []
            for path in (paths.settings_file(), paths.last_settings_file()):
                path.unlink()
            policy(BLOCK)
            [change] = apply().changes
            assert (change.name, change.causes) == ("nfsd.max_block_size", ["unknown"])
