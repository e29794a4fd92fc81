# SPDX-License-Identifier: Apache-2.0
"""The units of volumes: after the verified pool, and nothing of them where no volume is exported."""

import pytest

from millrace.serve.volume import serve
from millrace.system import paths
from tests.unit.boot.units import unit

EXPORTS = f"/srv/pool/{paths.VOLUMES}/exports.json"
UNITS = (
    "millrace-volumes.service",
    "millrace-module@nvmet.service",
    "millrace-watch@volumes.path",
    "millrace-upkeep@volumes.timer",
)


@pytest.mark.parametrize("name", UNITS)
def test_nothing_runs_where_no_volume_is_exported(name: str) -> None:
    # systemd.unit(5): what a unit requires or wants is started also where its own condition is not met
    assert unit(name)["ConditionPathExists"] == [EXPORTS]


def test_volumes_are_served_from_the_verified_pool_and_closed_before_it_is_unmounted() -> None:
    found = unit(serve.UNIT)
    after = " ".join(found["After"]).split()
    assert {"millrace-storage.target", "srv-pool.mount", "millrace-module@nvmet.service"} <= set(after)
    assert "millrace-storage.target" in found["Requires"][0].split()
    assert found["BindsTo"] == ["srv-pool.mount"]
    # also where the start was killed half way
    assert found["ExecStopPost"] == ["/usr/bin/millrace volume withdraw"]
    assert serve.UNIT in " ".join(unit("millrace-serving.target")["Wants"])


def test_secrets_in_configfs_are_for_root_alone() -> None:
    found = unit(serve.UNIT)
    assert found["ExecStartPre"] == ["/usr/bin/chmod 0700 /sys/kernel/config"]
    # what is mounted over it later would have its own mode
    assert "sys-kernel-config.mount" in " ".join(found["After"]).split()


def test_modules_are_loaded_as_long_as_they_are_needed() -> None:
    found = unit("millrace-module@nvmet.service")
    assert found["StopWhenUnneeded"] == ["yes"]
    assert found["ExecStop"] == ["-/usr/sbin/modprobe -r nvmet-tcp nvmet-rdma nvmet"]
    assert found["CapabilityBoundingSet"] == ["CAP_SYS_MODULE"]


def test_volumes_follow_networks_and_addresses() -> None:
    assert unit("millrace-watch@volumes.path")["PathChanged"] == [
        "/run/systemd/netif/links",
        "/var/lib/millrace/config.json",
    ]
    for name in ("millrace-watch@volumes.path", "millrace-upkeep@volumes.timer"):
        assert unit(name)["PartOf"] == [serve.UNIT]
        # which reloads it where it runs, after a reload that is under way
        assert unit(name)["Unit"] == [f"millrace-again@{serve.UNIT}"]
