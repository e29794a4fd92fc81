# SPDX-License-Identifier: Apache-2.0
"""A mount that takes hours after a boot is reported: the documents of such a night, one after the other."""

import os
from pathlib import Path

import pytest

from millrace.observe.alert.diff import difference
from millrace.observe.alert.model import Alert
from millrace.observe.health.collect import collect
from millrace.observe.health.model import Health, Level
from millrace.system import paths
from millrace.system.run import Result
from tests.fakes.mounts import mount, unmount_all
from tests.unit.observe.health.servers import filled, host, well

STARTING, ACTIVATING, INACTIVE = Result(1, "starting\n", ""), Result(0, "activating\n", ""), Result(0, "inactive\n", "")
BEGAN = "InactiveExitTimestamp=Sat 2026-11-21 23:50:07 UTC\nInactiveExitTimestampMonotonic=30000000\n"


@pytest.fixture
def serving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    monkeypatch.setattr(os, "statvfs", filled(40))
    well(tmp_path)
    return tmp_path


@pytest.fixture
def hanging(serving: Path) -> Path:
    """A server whose mount does not end; what serves waits for it."""
    unmount_all(serving)
    mount(serving, "/dev/vda3", "/", "ext4")
    (serving / "proc/fs/nfsd/threads").write_text("0\n")
    return serving


def document(minutes: float) -> Health:
    """Health so many minutes after the start; the mount began after half a minute."""
    return collect(
        host(uptime=60 * minutes, running=STARTING, mount=ACTIVATING, smbd=INACTIVE, since=Result(0, BEGAN, ""))
    )


def night(*minutes: float) -> list[tuple[float, str, str, Level]]:
    """The news of documents at these times: when, what, of which check and how bad."""
    open_: list[Alert] = []
    news = []
    for at in minutes:
        found = difference(open_, document(at))
        open_ = found.open
        events = {"opened": found.opened, "worse": found.worse, "closed": found.closed}
        news += [(at, event, one.key, one.level) for event, alerts in events.items() for one in alerts]
    return news


def test_mount_that_hangs_is_news_after_ten_minutes_and_worse_after_fifteen(hanging: Path) -> None:
    assert night(1, 9.5, 10.5, 12, 16, 60, 360) == [
        (10.5, "opened", "filesystem", Level.WARN),
        (10.5, "opened", "nfs", Level.WARN),
        (10.5, "opened", "smb", Level.WARN),
        (16, "worse", "filesystem", Level.FAIL),
    ]


def test_mount_is_a_failure_of_its_own_and_says_what_to_do(hanging: Path) -> None:
    [one] = [one for one in document(300).findings if one.check == "filesystem"]
    assert one.sentence == (
        "/srv/pool is still being mounted since 23:50, and no client is served: to replay the log of XFS or to count "
        "quotas may take hours."
    )
    assert one.todo is not None and one.todo.startswith("Do not restart the server: the mount would begin again.")


def test_servers_that_wait_for_the_mount_have_no_failure_of_their_own(hanging: Path) -> None:
    found = {one.check: one.sentence for one in document(300).findings if one.check in ("nfs", "smb")}
    assert found == {
        "nfs": "Clients of NFS are served when /srv/pool is mounted.",
        "smb": "Clients of SMB are served when /srv/pool is mounted.",
    }


def test_mount_of_which_systemd_says_nothing_counts_from_the_start_of_the_server(hanging: Path) -> None:
    def level(minutes: float) -> Level:
        silent = host(uptime=60 * minutes, mount=ACTIVATING, smbd=INACTIVE, since=Result(1, "", "no answer"))
        return next(one.level for one in collect(silent).findings if one.check == "filesystem")

    assert (level(14), level(16)) == (Level.WARN, Level.FAIL)


def test_unit_that_hangs_hides_no_server_that_is_down(serving: Path) -> None:
    """Not the mount: any job that does not end lets systemd say "starting"."""

    def smb(minutes: float) -> Level:
        found = collect(host(uptime=60 * minutes, running=STARTING, smbd=Result(0, "failed\n", "")))
        assert found.starting is (minutes < 10)
        return next(one.level for one in found.findings if one.check == "smb")

    assert (smb(9), smb(11)) == (Level.WARN, Level.FAIL)
