# SPDX-License-Identifier: Apache-2.0
"""What fails in a boot for a reason that passes: it is tried again, or it is listed here with what ends its failure."""

from pathlib import Path

import pytest

from millrace.observe.health.unit_remedies import REMEDIES, remedy
from tests.unit.boot.units import OWN, names, read, unit

SERVICES = sorted(path.name for path in OWN.glob("millrace-*.service") if path.is_file())
ONESHOTS = [name for name in SERVICES if unit(name).get("Type") == ["oneshot"]]

VERDICT = "its failure is a result, on which an administrator decides"
JOB = "a job of an administrator, who sees how it ended and starts it again"
EVENTS = "the next event, or its timer, starts it again"
NOT_RETRIED = {
    "millrace-adopt.service": VERDICT,
    "millrace-boot-check.service": VERDICT,
    "millrace-pool.service": VERDICT,
    "millrace-provision.service": "a pool that is half built goes on with `millrace provision` or the next boot",
    "millrace-confine.service": "what it loads is part of the image, and services have started by then",
    "millrace-documents.service": "before all others, or never: later it would put away what they have written",
    "millrace-backend-release.service": "it has nothing to do but when the server stops",
    "millrace-module@.service": "the unit that requires it starts it again",
    "millrace-find.service": "a web page, `millrace pool find` and udev start it again",
    "millrace-inventory.service": "`millrace plan` and the web page start it again",
    "millrace-plan.service": "`millrace plan` and the web page start it again",
    "millrace-assemble.service": "udev starts it when a drive comes, and millrace-readd.service with it",
    "millrace-volumes.service": "millrace-upkeep@volumes.timer starts it again",
    "millrace-health-stopped.service": "millrace-health.service starts it when it fails",
    **dict.fromkeys(
        [
            *(f"millrace-{name}.service" for name in ("again@", "certificate", "event@", "health", "keep", "members")),
            *(f"millrace-{name}.service" for name in ("metrics-collect", "readd", "replace@", "smart")),
        ],
        EVENTS,
    ),
    **dict.fromkeys(
        [
            *(f"millrace-{name}.service" for name in ("pool-change@", "reset", "rescue", "scrub-files", "trial")),
            *(f"millrace-{name}.service" for name in ("update", "update-fetch")),
        ],
        JOB,
    ),
}


@pytest.mark.parametrize("name", ONESHOTS)
def test_oneshot_is_tried_again_or_listed_with_what_ends_its_failure(name: str) -> None:
    found = unit(name)
    # 1 is what our programs exit with when they cannot do something
    is_retried = found.get("Restart") == ["on-failure"] or found.get("RestartForceExitStatus") == ["1"]
    assert is_retried != (name in NOT_RETRIED)
    if is_retried:
        # for as long as it takes, and within two minutes after the reason has passed
        assert found["StartLimitIntervalSec"] == ["0"]
        assert int(found["RestartSec"][0].removesuffix("s")) <= 30


def test_nfs_server_is_tried_again_as_ours_are() -> None:
    # a oneshot of nfs-utils, which without Restart= stays failed for a reason that has passed
    found = unit("nfs-server.service")
    assert (found["Restart"], found["RestartSec"], found["StartLimitIntervalSec"]) == (["on-failure"], ["30s"], ["0"])


def test_no_unit_of_the_boot_waits_for_the_network_or_the_time_for_ever() -> None:
    online = read(Path("usr/lib/systemd/system/systemd-networkd-wait-online.service.d/10-millrace.conf"))
    # "-": what is late is seen by millrace-watch@addresses.path, and nobody waits for it
    assert online["ExecStart"] == ["-/usr/lib/systemd/systemd-networkd-wait-online --any --timeout=30"]
    # systemd.special(7): a server without a time server would never reach either
    waiting = [name for name in SERVICES if {"time-sync.target", "time-set.target"} & names(unit(name), "After")]
    assert waiting == []


def test_tuning_that_hangs_is_not_tried_again_while_smbd_waits() -> None:
    found = unit("millrace-tune.service")
    assert "smbd.service" in names(found, "Before") and "Restart" not in found


def test_list_has_no_other_units() -> None:
    assert set(NOT_RETRIED) <= set(ONESHOTS)


def test_what_gave_up_waiting_is_started_when_the_share_is_rendered_after_all() -> None:
    share = unit("millrace-share.service")
    assert "/usr/bin/systemctl --no-block start millrace-serving.target" in share["ExecStartPost"]
    assert {"nfs-server.service", "smbd.service"} <= names(unit("millrace-serving.target"), "Wants")
    # what nfsdcld needs is tried again while nfsdcld, and the NFS server, wait
    assert unit("millrace-lock-records.service")["RestartMode"] == ["direct"]


@pytest.mark.parametrize("name", SERVICES)
def test_health_says_what_to_do_about_each_unit(name: str) -> None:
    short = name.removeprefix("millrace-").removesuffix(".service").removesuffix("@")
    assert short in REMEDIES
    said = remedy(name.replace("@", "@x"))
    assert "systemctl status" not in said and "{" not in said


def test_health_knows_no_other_unit() -> None:
    assert {f"millrace-{name}" for name in REMEDIES} == {
        name.removesuffix(".service").removesuffix("@") for name in SERVICES
    }


def test_table_of_exports_needs_no_boot_drive() -> None:
    # in /etc it would stay for a version before that has no such directory
    settings = OWN.parent / "mkosi.extra/usr/lib/millrace/nfs-state.conf"
    made = (OWN.parent / "mkosi.extra/usr/lib/tmpfiles.d/millrace.conf").read_text()
    [directory] = [
        line.partition("=")[2] for line in settings.read_text().splitlines() if line.startswith("state-directory-path=")
    ]
    assert directory.startswith("/run/") and f"\nd {directory} " in made
    # "couldn't open etab": it ends without one
    assert f"\nf {directory}/etab " in made
    # mountd reads where it is
    assert "millrace-share.service" in names(unit("nfs-mountd.service"), "After")
