# SPDX-License-Identifier: Apache-2.0
"""Metrics of drives are those of `millrace drive list`, in base units."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from millrace.observe.metrics.family import exposition
from millrace.observe.metrics.sources import drives
from millrace.storage.drive import drive_history, smart
from millrace.storage.drive.drive_history import KnownDrives
from millrace.storage.drive.facts import facts
from millrace.storage.drive.wear import WearStep
from millrace.system import paths
from millrace.system.documents import write_model
from tests.fakes.files.box import serial
from tests.fakes.files.running import server
from tests.unit.observe.metrics.scrape import parsed, value, values


def test_drive_in_use_and_a_missing_one(tmp_path: Path) -> None:
    with server(tmp_path) as box:
        box.provision()
        box.look()
        box.pull("data", 3)
        series = parsed(exposition(drives.families()))
    here, gone = serial(0), serial(3)
    assert value(series, "millrace_drive_temperature_celsius", serial=here, bay="1") == 40
    assert value(series, "millrace_drive_wear_ratio", serial=here) == 0.03
    assert value(series, "millrace_drive_spare_ratio", serial=here) == 1
    assert value(series, "millrace_drive_media_errors_total", serial=here) == 0
    assert value(series, "millrace_drive_power_on_seconds_total", serial=here) == 9120 * 3600
    assert value(series, "millrace_drive_size_bytes", serial=here) == 7_681_501_126_656
    assert value(series, "millrace_drive_info", serial=here, role="data", device="nvme0n1") == 1
    assert value(series, "millrace_drive_verdict", serial=here, millrace_drive_verdict="in-sync") == 1
    assert value(series, "millrace_drive_verdict", serial=gone, bay="4", millrace_drive_verdict="missing") == 1
    assert sum(values(series, "millrace_drive_verdict", serial=gone)) == 1
    assert value(series, "millrace_drive_smart_up", serial=here) == 1
    assert len(values(series, "millrace_smart_age_seconds")) == 1
    # of a drive that is gone nothing is known of now
    assert values(series, "millrace_drive_smart_up", serial=gone) == []
    assert values(series, "millrace_drive_temperature_celsius", serial=gone) == []


def test_drive_that_does_not_respond_to_smart(tmp_path: Path) -> None:
    with server(tmp_path) as box:
        box.provision()
        box.look()
        report = smart.last()
        assert report is not None
        silent = [drive.model_copy(update={"known": drive.serial != serial(0)}) for drive in report.drives]
        write_model(paths.smart_file(), report.model_copy(update={"drives": silent}))
        series = parsed(exposition(drives.families()))
    assert value(series, "millrace_drive_smart_up", serial=serial(0)) == 0
    assert value(series, "millrace_drive_smart_up", serial=serial(1)) == 1


def test_drive_that_is_no_nvme_drive_is_never_silent(tmp_path: Path) -> None:
    with server(tmp_path) as box:
        box.provision()
        box.look()
        report = smart.last()
        assert report is not None
        other = {"known": False, "transport": "sata"}
        read = [drive.model_copy(update=other if drive.serial == serial(0) else {}) for drive in report.drives]
        write_model(paths.smart_file(), report.model_copy(update={"drives": read}))
        series = parsed(exposition(drives.families()))
    assert values(series, "millrace_drive_smart_up", serial=serial(0)) == []


def test_drive_that_was_never_read_has_no_figures(tmp_path: Path) -> None:
    with server(tmp_path):
        found = parsed(exposition(drives.families()))
    assert len(values(found, "millrace_drive_size_bytes")) == 13
    assert values(found, "millrace_smart_age_seconds") == values(found, "millrace_drive_smart_up") == []
    assert values(found, "millrace_drive_wear_ratio") == [] and values(found, "millrace_drive_media_errors_total") == []


def test_day_on_which_a_drive_is_worn_out_is_a_time(tmp_path: Path) -> None:
    with server(tmp_path) as box:
        box.provision()
        box.look()
        known, today = drive_history.load().drives, facts().today
        days = [(400, 20), (60, 86), (30, 92)]
        worn = [WearStep(percent=percent, day=today - timedelta(days=ago)) for ago, percent in days]
        changed = [drive.model_copy(update={"wear": worn}) if drive.serial == serial(0) else drive for drive in known]
        drive_history.save(KnownDrives(drives=changed))
        series = parsed(exposition(drives.families()))
    end = value(series, "millrace_drive_wear_end_timestamp_seconds", serial=serial(0))
    assert datetime.fromtimestamp(end, UTC).date() == today + timedelta(days=int(8 * 60 / 7) - 30)
    assert values(series, "millrace_drive_wear_end_timestamp_seconds", serial=serial(1)) == []
