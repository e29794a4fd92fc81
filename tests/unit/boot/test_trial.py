# SPDX-License-Identifier: Apache-2.0
"""A new version is measured before the pool goes, and its boot ends although the check of it does not."""

from tests.unit.boot.units import names, unit


def minutes(name: str, setting: str) -> int:
    [text] = unit(name)[setting]
    return int(text.removesuffix("min"))


def test_members_are_counted_before_the_pool_is_unmounted() -> None:
    found = unit("millrace-trial.service")
    # systemd.unit(5): units are stopped in the reverse of the order in which they are started
    assert {"srv-pool.mount", "millrace-assemble.service"} <= names(found, "After")
    assert found["ExecStop"] == ["/usr/bin/millrace update measure"]
    assert found["RemainAfterExit"] == ["yes"]


def test_check_that_hangs_does_not_fail_before_its_boot_is_ended() -> None:
    # a job that failed has no time limit any more, and nothing would reboot
    assert unit("boot-complete.target")["JobTimeoutAction"] == ["reboot"]
    assert minutes("millrace-boot-check.service", "TimeoutStartSec") > minutes("boot-complete.target", "JobTimeoutSec")
