# SPDX-License-Identifier: Apache-2.0
"""What systemd needs for a factory reset: the initrd takes the request as its own, and only root goes."""

from host.layout import REPO
from tests.unit.boot.units import unit

PARTITIONS = REPO / "mkosi.extra/usr/lib/repart.d"
RELEASE = "usr/lib/os-release"


def test_initrd_is_the_system_that_the_request_is_for() -> None:
    """shared/factory-reset.c of systemd 262: ID= and IMAGE_ID= of the request are compared with those of the initrd."""
    initrd = (REPO / "mkosi.initrd.conf/mkosi.extra" / RELEASE).read_text()
    assert initrd == (REPO / "mkosi.extra" / RELEASE).read_text()


def test_only_the_root_file_system_is_made_again() -> None:
    reset = [path.name for path in sorted(PARTITIONS.iterdir()) if "FactoryReset=yes" in path.read_text().splitlines()]
    assert reset == ["40-root.conf"]


def test_reset_goes_on_at_a_boot_once_the_pool_was_assembled() -> None:
    found = unit("millrace-reset.service")
    assert found["ConditionPathExists"] == ["/var/lib/millrace/reset.json"]
    assert "millrace-assemble.service" in found["After"][0].split()
    assert (REPO / "units/multi-user.target.wants/millrace-reset.service").is_symlink()


def test_nothing_is_kept_while_a_reset_is_under_way() -> None:
    assert "!/var/lib/millrace/reset.json" in unit("millrace-keep.service")["ConditionPathExists"]
