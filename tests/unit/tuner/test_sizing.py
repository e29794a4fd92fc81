# SPDX-License-Identifier: Apache-2.0
"""Sizing by formula says its terms, and stands beside what was set and measured."""

from host.layout import REPO
from millrace.tuner.report.sizing import CREDITS, THREADS, sizing
from tests.unit.tuner.reports import finished


def test_formulas_name_every_term_and_what_was_measured() -> None:
    found = {one.name: one for one in sizing(finished())}
    # 16 cores, one port, memory 5 times as fast as the measured pool
    assert found["SMB credits by the hardware"].value == 16 + 2 + 5 + 5
    assert found["SMB credits by the threads"].value == 16 + 100 + 2 + 3
    assert "1 network port " in found["SMB credits by the hardware"].terms
    assert "not tried: smbd reads it when it starts" in found["SMB credits by the hardware"].here
    assert found["NFS server threads"].here == "1 planned, 64 measured best"


def test_unknown_server_has_no_sizing() -> None:
    assert sizing(finished().model_copy(update={"environment": None})) == []


def test_settings_are_those_of_smb_conf() -> None:
    text = (REPO / "tools/millrace/templates/etc/samba/smb.conf.j2").read_text()
    assert f"smb2 max credits = {CREDITS}\n" in text
    assert f"aio max threads = {THREADS}\n" in text
