# SPDX-License-Identifier: Apache-2.0
"""When what a server does by itself was done last."""

from pathlib import Path

from millrace.lifecycle.keep.model import KeepStatus
from millrace.lifecycle.update import records
from millrace.lifecycle.update.model import LastUpdate
from millrace.observe.metrics.family import exposition
from millrace.observe.metrics.sources import upkeep
from millrace.storage.record.pool_file import load_pool
from millrace.storage.record.scrub_record import ArrayScrub, FilesystemScrub, Scrubbed, ScrubRecord
from millrace.system import paths
from millrace.system.documents import write_model
from tests.fakes.files.running import server
from tests.unit.observe.metrics.scrape import parsed, value, values

AT = "2026-11-20T12:00:00+00:00"
SECONDS = 1_795_176_000


def test_checks_kept_state_certificate_and_update(tmp_path: Path) -> None:
    with server(tmp_path) as box:
        box.provision()
        uuid = load_pool().arrays[0].uuid
        last = Scrubbed(started=AT, ended=AT, bytes=1, seconds=1.0, mismatches=0, bad_areas=2)
        sound = FilesystemScrub(started=AT, ended=AT, seconds=1.0, problem=None)
        arrays = [ArrayScrub(array="data", uuid=uuid, last=last), ArrayScrub(array="log", uuid="x")]
        write_model(paths.scrub_file(), ScrubRecord(arrays=arrays, filesystem=sound))
        write_model(
            paths.keep_file(), KeepStatus(directory="/srv/pool/.millrace", written=AT, verified=AT, unread=["x"])
        )
        records.save_last(LastUpdate(version="0.2", before="0.1", state="failed", at=AT, by="admin"))
        series = parsed(exposition(upkeep.families()))
    assert value(series, "millrace_array_scrub_timestamp_seconds", array="data") == SECONDS
    # one that was never checked has no time, and not that of 1970
    assert values(series, "millrace_array_scrub_timestamp_seconds", array="log") == []
    assert value(series, "millrace_array_scrub_bad_areas", array="data") == 2
    assert (value(series, "millrace_pool_scrub_timestamp_seconds"), value(series, "millrace_pool_scrub_sound")) == (
        SECONDS,
        1,
    )
    assert (value(series, "millrace_keep_verified_timestamp_seconds"), value(series, "millrace_keep_complete")) == (
        SECONDS,
        0,
    )
    assert value(series, "millrace_update_outcome", millrace_update_outcome="failed", version="0.2") == 1
    assert value(series, "millrace_update_outcome", millrace_update_outcome="accepted") == 0
    assert value(series, "millrace_update_timestamp_seconds") == SECONDS
    assert value(series, "millrace_update_on_trial") == 0


def test_server_without_a_pool_has_no_times_of_one(tmp_path: Path) -> None:
    with server(tmp_path):
        found = parsed(exposition(upkeep.families()))
    assert {name for name, _ in found} == {"millrace_update_on_trial", "millrace_certificate_end_timestamp_seconds"}


def test_end_of_the_certificate(tmp_path: Path) -> None:
    with server(tmp_path) as box:
        box.provision()
        box.shares()
        box.look()
        series = parsed(exposition(upkeep.families()))
    assert value(series, "millrace_certificate_end_timestamp_seconds") > SECONDS
    # a state that was never kept is neither complete nor not
    assert len(values(series, "millrace_keep_complete")) == len(
        values(series, "millrace_keep_verified_timestamp_seconds")
    )
