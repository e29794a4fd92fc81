# SPDX-License-Identifier: Apache-2.0
"""The record of sign-ins is on disk, is bounded, and a flood of failed SMB sign-ins does not push it out."""

from pathlib import Path

from tests.unit.boot.units import read, unit

GIB = 1 << 30
# journald.conf(5): the most that free space multiplies RateLimitBurst= with
LARGEST_FACTOR = 6
# an entry of auth_audit or auth_json_audit with the journal's own fields, in bytes, rounded up
ENTRY = 1500
HOURS = 72


def test_journal_is_on_disk_and_leaves_room_for_the_rest() -> None:
    journal = read(Path("usr/lib/systemd/journald.conf.d/10-millrace.conf"))
    assert (journal["Storage"], journal["SystemMaxUse"], journal["SystemKeepFree"]) == (["persistent"], ["4G"], ["1G"])


def test_flood_of_a_session_takes_three_days_to_fill_the_journal() -> None:
    journal = read(Path("usr/lib/systemd/journald.conf.d/10-millrace.conf"))
    assert journal["RateLimitIntervalSec"] == ["1h"]
    [burst] = journal["RateLimitBurst"]
    assert int(burst) * LARGEST_FACTOR * ENTRY * HOURS < 4 * GIB


def test_flood_of_smb_sign_ins_takes_three_days_to_fill_the_journal() -> None:
    smbd = unit("smbd.service")
    assert smbd["LogRateLimitIntervalSec"] == ["1h"]
    [burst] = smbd["LogRateLimitBurst"]
    assert int(burst) * LARGEST_FACTOR * ENTRY * HOURS < 4 * GIB
    # `journalctl -u smbd` and Cockpit's page of logs show SMB too
    assert "LogNamespace" not in smbd
