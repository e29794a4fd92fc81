# SPDX-License-Identifier: Apache-2.0
"""The SID of the machine is that of the pool: not of the host name, the boot drive or a domain."""

import socket

import pytest

from millrace.lifecycle.keep.kept_files import KEPT
from millrace.serve.config.model import first_config
from millrace.serve.share import machine_sid
from millrace.system.errors import Failed
from millrace.system.run import Result
from tests.fakes.appliance import Appliance
from tests.fakes.samba import FIRST
from tests.fakes.samples import pool

OLD, OTHER = "S-1-5-21-1872640930-2769875393-1850789776", "S-1-5-21-3-2-1"
NAME = machine_sid.server_name(pool())


def nothing() -> str | None:
    return None


def test_new_server_keeps_the_sid_that_samba_makes_for_the_name_of_the_pool(appliance: Appliance) -> None:
    appliance.server().apply(first_config())
    assert appliance.samba.sids == {NAME: FIRST} and machine_sid.recorded(pool()) == FIRST
    assert appliance.on_smb()["global"]["netbios name"] == NAME and len(NAME) <= 15


def test_another_host_name_changes_nothing(appliance: Appliance, monkeypatch: pytest.MonkeyPatch) -> None:
    appliance.server().apply(first_config())
    monkeypatch.setattr(socket, "gethostname", lambda: "nas-renamed")
    report = appliance.server().apply(first_config())
    assert report.changed == [] and report.warnings == []
    assert appliance.samba.sids == {NAME: FIRST} and not appliance.called("net setlocalsid")


def test_server_of_an_earlier_release_keeps_the_sid_of_its_host_name(
    appliance: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "a-rather-long-host-name.example.com")
    appliance.samba.sids["A-RATHER-LONG-H"] = OLD
    appliance.server().apply(first_config())
    assert appliance.samba.sids[NAME] == OLD and machine_sid.recorded(pool()) == OLD


def test_server_that_was_renamed_before_gets_the_sid_of_its_files(appliance: Appliance) -> None:
    appliance.samba.sids["HOST"] = OTHER
    assert machine_sid.settle(pool(), None, lambda: OLD, appliance)
    assert appliance.samba.sids["HOST"] == OLD and machine_sid.recorded(pool()) == OLD


def test_sid_that_was_changed_is_set_back_and_users_are_looked_up_again(appliance: Appliance) -> None:
    server = appliance.server()
    server.apply(first_config())
    appliance.samba.sids[NAME] = OTHER
    report = server.apply(first_config())
    assert appliance.samba.sids[NAME] == FIRST and appliance.samba.flushed
    assert "smbd.service" in report.reloaded and appliance.called("systemctl restart --no-block")


def test_kept_state_of_a_pool_brings_its_sid_to_a_boot_drive_with_another_one(appliance: Appliance) -> None:
    assert any(one.path == "var/lib/millrace/machine-sid.json" and not one.secret for one in KEPT)
    appliance.server().apply(first_config())
    appliance.samba.sids.clear()
    appliance.server().apply(first_config())
    assert appliance.samba.sids[NAME] == FIRST


def test_sid_of_a_pool_that_was_here_before_is_not_that_of_this_one(appliance: Appliance) -> None:
    appliance.server().apply(first_config())
    other = pool().model_copy(update={"filesystem_uuid": "99999999-2222-3333-4444-555555555555"})
    assert machine_sid.recorded(other) is None


def test_samba_that_does_not_take_the_sid_serves_with_a_warning(appliance: Appliance) -> None:
    appliance.broken["net getlocalsid"] = Result(255, "", "Failed to open secrets.tdb\n")
    [warning] = appliance.server().apply(first_config()).warnings
    assert "SID of this server is not set" in warning and "secrets.tdb" in warning


def test_samba_without_any_sid_is_an_error(appliance: Appliance) -> None:
    appliance.broken["tdbdump"] = Result(1, "", "")
    with pytest.raises(Failed, match="Samba has no SID"):
        machine_sid.settle(pool(), None, nothing, appliance)


@pytest.mark.parametrize("text", ["", "\\01\\04", "x" * 68])
def test_what_is_no_sid_is_none(appliance: Appliance, text: str) -> None:
    appliance.broken["tdbdump"] = Result(0, text, "")
    assert machine_sid.held("HOST", appliance) is None


def test_value_of_secrets_tdb_as_tdbdump_prints_it(appliance: Appliance) -> None:
    text = "\\01\\04\\00\\00\\00\\00\\00\\05\\15\\00\\00\\00\\A2;\\9Eo\\C1\\F1\\18\\A5\\90\\CFPn" + "\\00" * 44
    appliance.broken["tdbdump"] = Result(0, text, "")
    assert machine_sid.held("NAS-ONE", appliance) == OLD
