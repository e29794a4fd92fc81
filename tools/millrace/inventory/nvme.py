# SPDX-License-Identifier: Apache-2.0
"""What an NVMe drive reports beyond sysfs. All of it is optional: a drive that hangs reports nothing."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict

from millrace.inventory.model import LbaFormat
from millrace.system import sysfs
from millrace.system.run import Runner

ABSOLUTE_ZERO = -273
COLDEST_KELVIN = 200  # no drive works below; no drive works above as many degrees Celsius
LBA_FORMAT_LOW, LBA_FORMAT_HIGH = 0xF, 0x60  # NVMe base specification: FLBAS bits 3:0 and 6:5
SMALLEST_SHIFT, LARGEST_SHIFT = 9, 63  # NVM command set specification: LBADS; the size of a drive has 64 bits
COUNTER = 1 << 128  # the widest field of a log
Answer = dict[str, object]


class Details(TypedDict):
    """The fields of a drive that this module fills."""

    eui64: str | None
    nguid: str | None
    lba_formats: list[LbaFormat]
    dlfeat: int | None
    volatile_write_cache: bool | None
    temperature: int | None
    wear: int | None
    critical_warning: int | None
    available_spare: int | None
    spare_threshold: int | None


class Smart(TypedDict):
    """The SMART log: degrees Celsius, percent, counts, hours; None for what the drive does not report.

    `throttled` is how often the drive slowed itself down because of heat, `throttled_seconds` for how long, and
    `hot_minutes` how long it was above its warning or critical temperature; all in its life.
    """

    temperature: int | None
    wear: int | None
    critical_warning: int | None
    available_spare: int | None
    spare_threshold: int | None
    media_errors: int | None
    power_on_hours: int | None
    throttled: int | None
    throttled_seconds: int | None
    hot_minutes: int | None


def smart(controller: Path, device: Path, run: Runner) -> Smart | None:
    """Read the SMART log of a drive; None where it fails. `controller` is its sysfs directory."""
    health = query("smart-log", device, run)
    return _smart(health, controller) if health else None


def _smart(health: Answer, controller: Path) -> Smart:
    warning = health.get("critical_warning")
    return Smart(
        temperature=_celsius(health.get("temperature"), controller),
        wear=integer(health.get("percent_used", health.get("percentage_used"))),
        critical_warning=integer(warning.get("value") if isinstance(warning, dict) else warning),
        available_spare=integer(health.get("avail_spare", health.get("available_spare"))),
        spare_threshold=integer(health.get("spare_thresh", health.get("available_spare_threshold"))),
        media_errors=integer(health.get("media_errors")),
        power_on_hours=integer(health.get("power_on_hours")),
        throttled=_sum(health, "thm_temp1_trans_count", "thm_temp2_trans_count"),
        throttled_seconds=_sum(health, "thm_temp1_total_time", "thm_temp2_total_time"),
        hot_minutes=_sum(health, "warning_temp_time", "critical_comp_time"),
    )


def _sum(health: Answer, *names: str) -> int | None:
    known = [one for one in (integer(health.get(name)) for name in names) if one is not None]
    return sum(known) if known else None


def details(drive: Path, controller: Path, device: Path, run: Runner) -> Details:
    """Read the details of a drive. `drive` and `controller` are its sysfs directories, `device` its node."""
    namespace, health = query("id-ns", device, run), _smart(query("smart-log", device, run), controller)
    cache = write_cache(drive)
    return Details(
        eui64=_identifier(sysfs.text(drive / "eui") or namespace.get("eui64")),
        nguid=_identifier(sysfs.text(drive / "nguid") or namespace.get("nguid")),
        lba_formats=_formats(namespace),
        dlfeat=integer(namespace.get("dlfeat")),
        volatile_write_cache=_controller_cache(device, run) if cache is None else cache,
        temperature=health["temperature"],
        wear=health["wear"],
        critical_warning=health["critical_warning"],
        available_spare=health["available_spare"],
        spare_threshold=health["spare_threshold"],
    )


def write_cache(drive: Path) -> bool | None:
    """Whether the kernel has to flush this drive: an NVMe drive reports whether it has a volatile cache."""
    mode = sysfs.text(drive / "queue/write_cache")
    return {"write back": True, "write through": False}.get(mode or "")


def _controller_cache(device: Path, run: Runner) -> bool | None:
    present = integer(query("id-ctrl", device, run).get("vwc"))
    return None if present is None else bool(present & 1)


def query(what: str, device: Path, run: Runner, options: Sequence[str] = ()) -> Answer:
    """Return what a drive says to a question of nvme-cli, with keys in lower case; nothing where that fails."""
    result = run(["nvme", what, str(device), *options, "--output-format=json"])
    try:
        said = json.loads(result.out) if result.status == 0 else {}
    except (ValueError, RecursionError):
        return {}
    # Releases of nvme-cli differ in the case of some keys.
    return {key.lower(): value for key, value in said.items()} if isinstance(said, dict) else {}


def _formats(namespace: Answer) -> list[LbaFormat]:
    formats, flbas = namespace.get("lbafs"), integer(namespace.get("flbas"))
    if not isinstance(formats, list) or flbas is None:
        return []
    used = flbas & LBA_FORMAT_LOW | (flbas & LBA_FORMAT_HIGH) >> 1
    lba_formats = []
    for number, entry in enumerate(formats):
        shift = integer(entry.get("ds")) if isinstance(entry, dict) else None
        # 0 is an entry that is not available, and below 9 none that there is; what a drive says may be any 8 bits
        if shift is not None and SMALLEST_SHIFT <= shift <= LARGEST_SHIFT:
            metadata, performance = abs(integer(entry.get("ms")) or 0), integer(entry.get("rp")) or 0
            lba_formats.append(
                LbaFormat(block=1 << shift, metadata=metadata, performance=performance, in_use=number == used)
            )
    return lba_formats


def _celsius(kelvin: object, controller: Path) -> int | None:
    said = integer(kelvin)
    if said is not None and said > COLDEST_KELVIN:
        return said + ABSOLUTE_ZERO
    for name in sysfs.names(controller):
        if name.startswith("hwmon"):
            milli = _hwmon(controller / name)
            return None if milli is None else round(milli / 1000)
    return None


def _hwmon(directory: Path) -> int | None:
    """`nvme0/hwmon3/temp1_input`, in older kernels `nvme0/hwmon/hwmon3/temp1_input`."""
    for place in (directory, *(directory / name for name in sysfs.names(directory))):
        milli = sysfs.number(place / "temp1_input")
        if milli is not None:
            return milli
    return None


def _identifier(said: object) -> str | None:
    """`00 25 38 5b` and `0025385b-…` -> 0025385b…; zeros are no identifier."""
    digits = "".join(filter(str.isalnum, said)).lower() if isinstance(said, str) else ""
    return digits if digits.strip("0") else None


def integer(said: object) -> int | None:
    """Return a number, None for what is none; counters of 128 bits come as text from some releases of nvme-cli."""
    if isinstance(said, str) and said.isdecimal() and len(said) <= len(str(COUNTER)):
        said = int(said)
    # a longer one, which no drive has, could not even be printed
    return said if isinstance(said, int) and not isinstance(said, bool) and abs(said) < COUNTER else None
