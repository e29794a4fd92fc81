# SPDX-License-Identifier: Apache-2.0
"""The banner above the login prompt, word for word, and when it is redrawn."""

from pathlib import Path

import pytest

from millrace.lifecycle.access import one_time
from millrace.observe.health.accelerators import Fed, FedCount
from millrace.observe.health.banner import banner
from millrace.observe.health.model import Health, HealthFinding, Level, worst
from millrace.observe.health.status import Space, Status, lines
from millrace.observe.health.write import write
from millrace.observe.jobs.job_list import CurrentJob
from millrace.system import paths
from millrace.system.documents import read_model
from millrace.system.errors import Failed
from millrace.system.net import Interface
from millrace.system.os_release import image_version
from tests.fakes.samples import default_share, pool, port

GOLDEN = Path(__file__).parent / "golden"
PORTS = [port("enp1s0", "10.0.0.2/24", "fd00:1::2/64"), port("enp65s0np0", "192.168.100.200/24")]
WAITING = HealthFinding(
    check="pool",
    level=Level.WARN,
    sentence="No pool yet. The plan: RAID6 of 10 drives.",
    todo="Read it (millrace plan), then: millrace approve " + "a" * 64,
)
FINE = HealthFinding(check="units", level=Level.OK, sentence="No unit has failed.")


def health(*findings: HealthFinding) -> Health:
    return Health(at="2026-11-20T04:00:00+00:00", level=worst(findings), findings=list(findings))


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/os-release").write_text('ID=debian\nIMAGE_VERSION="0.1.0"\n')
    return tmp_path


def test_a_server_that_waits_for_its_approval() -> None:
    assert banner("0.1.0", PORTS, health(WAITING, FINE)) == (GOLDEN / "waiting.issue").read_text()


def test_a_server_that_is_well() -> None:
    assert banner("0.1.0", PORTS, health(FINE)) == (GOLDEN / "well.issue").read_text()


def test_a_server_without_a_cable_says_so() -> None:
    assert "No port of this server has an address yet" in banner("0.1.0", [], health(FINE))


def test_agetty_does_not_take_a_backslash_for_an_escape() -> None:
    odd = HealthFinding(check="pool", level=Level.FAIL, sentence=r"serial A\nB", todo="look")
    assert r"serial A\\nB" in banner("0.1.0", [], health(odd))


def test_the_version_is_that_of_the_image(server: Path) -> None:
    assert image_version() == "0.1.0"


def test_consoles_are_redrawn_only_after_a_change(server: Path) -> None:
    drawn: list[bool] = []
    for found in (health(FINE), health(FINE), health(WAITING)):
        write(found, lambda: PORTS, lambda: drawn.append(True))
    assert len(drawn) == 2
    assert read_model(paths.health_file(), Health).level is Level.WARN


def test_the_time_of_the_check_does_not_redraw_the_console(server: Path) -> None:
    drawn: list[bool] = []
    write(health(FINE), lambda: PORTS, lambda: drawn.append(True))
    write(health(FINE).model_copy(update={"at": "later"}), lambda: PORTS, lambda: drawn.append(True))
    assert len(drawn) == 1


def test_health_is_shown_where_addresses_cannot_be_read(server: Path) -> None:
    def broken() -> list[Interface]:
        raise Failed("ip -j addr failed")

    write(health(WAITING), broken, lambda: None)
    assert "No pool yet" in (server / "run/issue.d/50-millrace.issue").read_text()


def test_a_password_that_was_changed_leaves_the_console_with_the_next_check(server: Path) -> None:
    drawn: list[bool] = []
    (server / "etc/shadow").write_text("admin:hash:0:0:99999:7:::\n")
    one_time.show("abcd-efgh")
    write(health(FINE), lambda: PORTS, lambda: drawn.append(True))
    assert one_time.is_shown()
    (server / "etc/shadow").write_text("admin:hash:20777:0:99999:7:::\n")
    write(health(FINE), lambda: PORTS, lambda: drawn.append(True))
    assert not one_time.is_shown() and len(drawn) == 2


FED = Fed(
    counts=[FedCount(accelerator="H100", count=24, floor=90)],
    basis="predicted",
    bandwidth=70 * 10**9,
    bound_by="nic",
    run=None,
    at=None,
    degraded=False,
)

REBUILD = CurrentJob(
    name="rebuild",
    title="rebuild",
    what="array data",
    state="running",
    progress=0.125,
    seconds_left=600,
    bytes_per_second=205_000_000,
    by=None,
    after_boot="continues",
    cancellable=False,
    why=None,
)


def test_status_is_one_screen() -> None:
    share = default_share(pool(), ["10.0.0.0/24"], True, [])
    report = health(WAITING, FINE)
    seen = Status(
        version="1",
        hostname="millrace",
        addresses=[],
        uptime=777_600,
        health=report,
        next=[f"{finding.sentence} {finding.todo}" for finding in report.findings if finding.todo],
        pool=pool(),
        space=Space(size=80 * 10**12, used=79 * 10**12, free=10**12),
        shares=[share],
        fed=FED,
        jobs=[REBUILD],
        as_root=True,
        notes=[],
    )
    assert lines(seen) == [
        "Health:  WARN",
        "         WARN: No pool yet. The plan: RAID6 of 10 drives.",
        "Pool:    /srv/pool, 80 TB, 1 TB free",
        "Feeds:   24 H100 with 3D-U-Net (predicted, not measured yet; bottleneck: nic)",
        "Share:   data  SMB; NFS to 10.0.0.0/24",
        "Job:     rebuild, array data: 12.5%, 205 MB/s, 10 min left",
        "Next:    No pool yet. The plan: RAID6 of 10 drives. Read it (millrace plan), then: millrace approve "
        + "a" * 64,
    ]
    much = seen.model_copy(
        update={
            "shares": [share.model_copy(update={"name": f"b{number}"}) for number in range(320)],
            "health": health(*[WAITING.model_copy(update={"sentence": f"Bad {n}."}) for n in range(50)]),
            "next": [f"Bad {n}. Look." for n in range(50)],
            "notes": [f"note {n}" for n in range(50)],
        }
    )
    assert len(lines(much)) <= 24
    assert "         … and 317 more (320 in all): millrace share list" in lines(much)
    assert sum(line.startswith("Share:") for line in lines(much)) == 3


def test_what_is_ok_has_no_remedy() -> None:
    with pytest.raises(ValueError, match="has no remedy"):
        HealthFinding(check="units", level=Level.OK, sentence="No unit has failed.", todo="systemctl")


def test_unknown_outranks_a_warning_and_failure_outranks_all() -> None:
    def level(*levels: Level) -> Level:
        return worst([FINE.model_copy(update={"level": one}) for one in levels])

    assert level(Level.OK, Level.WARN, Level.UNKNOWN) is Level.UNKNOWN
    assert level(Level.UNKNOWN, Level.FAIL, Level.OK) is Level.FAIL
    assert level() is Level.UNKNOWN
