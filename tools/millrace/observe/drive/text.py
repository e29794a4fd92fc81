# SPDX-License-Identifier: Apache-2.0
"""The text of `millrace drive list` and `millrace drive show`."""

from collections.abc import Sequence

from millrace.inventory.drive_tests import DriveTest, in_words
from millrace.storage.drive.drive_model import DriveRow
from millrace.storage.drive.drive_text import size_or_nothing, verdict
from millrace.system import printing
from millrace.system.text import size

HEAD = ["Bay", "Serial", "Model", "Size", "Role", "Verdict", "°C", "Worn"]
FIGURES = {"Size", "°C", "Worn"}
OPAL = {
    None: "no, or not reported",
    "off": "can (Opal), not in use",
    "unlocked": "yes (Opal), unlocked until it loses power",
    "locked": "yes (Opal), locked",
}


def table(drives: Sequence[DriveRow]) -> list[str]:
    """Return one line for each drive under a line of titles."""
    if not drives:
        return ["This server has no drives."]
    return list(printing.table(HEAD, map(_cells, drives), right=FIGURES))


def details(drive: DriveRow) -> list[str]:
    """Return everything that is known of a drive, a line each."""
    values = {
        "Serial": drive.serial,
        "Verdict": verdict(drive),
        "Bay": drive.bay,
        "Role": f"{drive.role}, array {', '.join(drive.arrays)}" if drive.arrays else drive.role,
        "Name": drive.name,
        "Model": drive.model,
        "Firmware": drive.firmware,
        "Size": size_or_nothing(drive.size_bytes),
        "Temperature": _unit(drive.temperature_celsius, "°C"),
        "Wear": _unit(drive.wear_percent, "% of the rated endurance"),
        "Worn out on": drive.wear_ends,
        "Spare capacity": _unit(drive.spare_percent, "%"),
        "Media errors": _unit(drive.media_errors),
        "Power-on hours": _unit(drive.power_on_hours),
        "Last seen": drive.last_seen,
        "Locks itself": OPAL[drive.opal],
        **_test(drive.test),
        "Possible now": ", ".join(drive.actions) or "nothing",
    }
    return list(printing.fields((name, text or "unknown") for name, text in values.items()))


def _test(test: DriveTest | None) -> dict[str, str | None]:
    """The last test and its figures."""
    if test is None:
        return {"Tested": "never on this server"}
    why = [reason for reason in (test.reason, *test.remarks) if reason]
    figures: dict[str, str | None] = {"Tested": "; ".join([in_words(test), *why])}
    rates = [
        f"{what} {size(rate)}/s, longest request {longest} ms"
        for what, rate, longest in (
            ("write", test.write_bytes_per_second, test.longest_write_ms),
            ("read", test.read_bytes_per_second, test.longest_read_ms),
        )
        if rate is not None
    ]
    if rates:
        figures["Measured"] = "; ".join(rates)
    if test.hottest_celsius is not None:
        figures["Hottest"] = f"{test.hottest_celsius} °C in the test"
    if test.trim is not None:
        figures["Trim"] = test.trim
    return figures


def _cells(drive: DriveRow) -> list[str | None]:
    cells = [
        drive.bay,
        drive.serial,
        drive.model,
        size_or_nothing(drive.size_bytes),
        drive.role,
        verdict(drive),
        _unit(drive.temperature_celsius),
        _unit(drive.wear_percent, "%"),
    ]
    return [text or None for text in cells]


def _unit(number: int | None, unit: str = "") -> str:
    return "" if number is None else f"{number} {unit}".rstrip()
