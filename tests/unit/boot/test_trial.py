# SPDX-License-Identifier: Apache-2.0
"""A new version is measured before the pool goes."""

from tests.unit.boot.units import names, unit


def test_members_are_counted_before_the_pool_is_unmounted() -> None:
    found = unit("millrace-trial.service")
    # systemd.unit(5): units are stopped in the reverse of the order in which they are started
    assert {"srv-pool.mount", "millrace-assemble.service"} <= names(found, "After")
    assert found["ExecStop"] == ["/usr/bin/millrace update measure"]
    assert found["RemainAfterExit"] == ["yes"]
