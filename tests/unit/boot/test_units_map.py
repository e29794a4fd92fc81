# SPDX-License-Identifier: Apache-2.0
"""The page about the units: it has all of them, and each is started by something."""

import pytest

from tests.unit.boot.units import OWN, settings
from tests.unit.boot.units_map import PAGE, mentioned, text, writes
from tests.unit.boot.units_started import INITRD, rooms, starters
from tests.unit.wings import rooms as all_rooms

UNITS = sorted(path.name for path in OWN.glob("millrace-*.*") if path.is_file())
SERVICES = [name for name in UNITS if name.endswith(".service")]
# They start other units, or run a tool of the distribution.
OF_NO_ROOM = {
    f"millrace-{one}.service"
    for one in ("again@", "confine", "event@", "firewall@", "module@", "node-exporter", "nvme-hostid")
}


def test_page_is_as_the_units_are() -> None:
    assert PAGE.read_text() == text(), "run tools/docs --write"


def test_more_units_need_a_reason() -> None:
    """Each is one more thing to know at night: an instance of a template, or a command of a unit, may do instead."""
    assert len(UNITS) <= 75


def test_page_has_every_unit() -> None:
    early = {path.name for path in INITRD.glob("millrace-*.*") if path.is_file()}
    assert len(UNITS) > 60 and mentioned(PAGE.read_text()) == {*UNITS, *early}


@pytest.mark.parametrize("name", UNITS)
def test_every_unit_is_started_by_something(name: str) -> None:
    assert starters().get(name)


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_runs_rooms_of_the_program_or_is_listed(name: str) -> None:
    assert bool(rooms(name)) != (name in OF_NO_ROOM)
    assert set(rooms(name)) <= set(all_rooms())


@pytest.mark.parametrize(
    ("name", "who"),
    [
        ("millrace-tune.service", "`millrace-event@arrays.service`"),
        ("millrace-trim.service", "`millrace-upkeep@trim.timer`"),
        ("millrace-scrub-files.service", "code in `storage/scrub/`"),
        ("millrace-health.service", "`md-event`"),
        ("millrace-readd.service", "udev"),
        ("millrace-lock-records.service", "`nfsdcld.service`"),
        ("millrace-health-stopped.service", "`millrace-health.service` when it fails"),
        ("millrace-install.target", "an entry of the boot menu"),
    ],
)
def test_who_starts_a_unit_is_found_in_each_place(name: str, who: str) -> None:
    assert who in starters()[name]


def test_instances_of_a_template_are_named_before_who_starts_them() -> None:
    assert starters()["millrace-replace@.service"]["udev"] == ["event"]
    assert starters()["millrace-replace@.service"]["boot"] == ["boot"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ReadWritePaths=/run -/boot\nProtectKernelTunables=yes\nPrivateDevices=yes", "`/run`, `/boot`"),
        ("PrivateDevices=yes", "kernel settings"),
        ("ProtectKernelTunables=yes", "drives"),
        ("ProtectKernelTunables=yes\nDevicePolicy=closed\nDeviceAllow=block-md r", "nothing"),
        ("ProtectKernelTunables=yes\nDevicePolicy=closed\nDeviceAllow=block-sd rw", "devices `block-sd`"),
        ("ProtectSystem=full\nReadOnlyPaths=/var\nProtectKernelTunables=yes\nPrivateDevices=yes",
         "all paths but `/usr`, `/boot`, `/etc`, `/var`"),
        ("DynamicUser=yes\nStateDirectory=one\nProtectKernelTunables=yes\nPrivateDevices=yes",
         "`/var/lib/one`, as a user of its own"),
    ],
)  # fmt: skip
def test_what_a_service_may_write_is_read_from_its_settings(text: str, words: str) -> None:
    assert writes(settings(f"ProtectSystem=strict\n{text}\n")) == words
