# SPDX-License-Identifier: Apache-2.0
"""The text of `millrace drive list` and `millrace drive show`."""

from collections.abc import Iterable, Iterator, Sequence

import click

from millrace.drive.model import DriveRow, Located
from millrace.drive.testing import expected
from millrace.inventory.drive_tests import DriveTest, DriveTests, in_words
from millrace.provision.drive_tests import DriveTestLine
from millrace.provision.erasure import EraseLine, EraseProgress, Erasure
from millrace.system.text import pace, size

HEAD = ["Bay", "Serial", "Model", "Size", "Role", "Verdict", "°C", "Worn"]
FIGURES = {"Size", "°C", "Worn"}


def table(drives: Sequence[DriveRow]) -> list[str]:
    """Return one line for each drive under a line of titles."""
    if not drives:
        return ["This server has no drives."]
    cells = [HEAD, *(_cells(one) for one in drives)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(HEAD))]
    return ["  ".join(_padded(*each) for each in zip(HEAD, line, widths, strict=True)).rstrip() for line in cells]


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
        "Size": _size(drive.size_bytes),
        "Temperature": _unit(drive.temperature_celsius, "°C"),
        "Wear": _unit(drive.wear_percent, "% of the rated endurance"),
        "Worn out on": drive.wear_ends,
        "Spare capacity": _unit(drive.spare_percent, "%"),
        "Media errors": _unit(drive.media_errors),
        "Power-on hours": _unit(drive.power_on_hours),
        "Last seen": drive.last_seen,
        **_test(drive.test),
        "Possible now": ", ".join(drive.actions) or "nothing",
    }
    return [f"{name + ':':<16}{text or 'unknown'}" for name, text in values.items()]


def verdict(drive: DriveRow) -> str:
    """Return the verdict with its number of bytes or what was found."""
    if drive.too_small_by is not None:
        return f"{drive.verdict} (by {drive.too_small_by} bytes)"
    return f"{drive.verdict} ({drive.what})" if drive.what else drive.verdict


def _test(test: DriveTest | None) -> dict[str, str | None]:
    """The last test and its figures."""
    if test is None:
        return {"Tested": "never on this server"}
    why = [one for one in (test.reason, *test.remarks) if one]
    found: dict[str, str | None] = {"Tested": "; ".join([in_words(test), *why])}
    rates = [
        f"{what} {size(rate)}/s, longest request {longest} ms"
        for what, rate, longest in (
            ("write", test.write_bytes_per_second, test.longest_write_ms),
            ("read", test.read_bytes_per_second, test.longest_read_ms),
        )
        if rate is not None
    ]
    if rates:
        found["Measured"] = "; ".join(rates)
    if test.hottest_celsius is not None:
        found["Hottest"] = f"{test.hottest_celsius} °C in the test"
    if test.trim is not None:
        found["Trim"] = test.trim
    return found


def before_tests(drives: Sequence[DriveRow], quick: bool) -> Iterator[str]:
    """Return what is about to be tested, and how long that is expected to take."""
    for one in drives:
        yield f"To be tested: {one.serial}, {one.model}, {_size(one.size_bytes)}, {one.bay or 'bay unknown'}"
    longest = max(one.size_bytes or 0 for one in drives)
    yield f"Expected: {expected(longest, quick)}, all drives at the same time."
    yield "The drives are written and read, and blank afterwards. Power cuts are not tested."


def tested(ended: DriveTest) -> str:
    """Return how one test ended."""
    why = "; ".join(one for one in (ended.reason, *ended.remarks) if one)
    left = "the drive is blank" if ended.blank else "the drive is not blank"
    return f"drive {ended.serial}: {ended.state}{f' ({why})' if why else ''}; {left}"


def cancelled(ended: DriveTests) -> Iterator[str]:
    """Return which tests were cancelled, and how each ended."""
    yield f"tests cancelled: {', '.join(one.serial for one in ended.tests) or 'none had begun'}"
    yield from (tested(one) for one in ended.tests)


def test_bar(lines: Iterable[DriveTestLine]) -> DriveTestLine | None:
    """Show the progress of tests as a bar for each drive on stderr, then how each ended; return the last document."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskID, TextColumn

    ended: list[DriveTest] = []
    tasks: dict[str, TaskID] = {}
    with Progress(TextColumn("{task.description}"), BarColumn(), console=Console(stderr=True)) as bar:
        for one in lines:
            if isinstance(one, DriveTest):
                ended.append(one)
                continue
            if one.serial not in tasks:
                tasks[one.serial] = bar.add_task(one.serial)
            words = f"{one.serial} {one.what}{pace(one.bytes_per_second, one.seconds_left)}"
            bar.update(tasks[one.serial], description=words, completed=one.done, total=one.total)
    for each in ended:
        click.echo(tested(each))
    return ended[-1] if ended else None


def _cells(drive: DriveRow) -> list[str]:
    found = [
        drive.bay,
        drive.serial,
        drive.model,
        _size(drive.size_bytes),
        drive.role,
        verdict(drive),
        _unit(drive.temperature_celsius),
        _unit(drive.wear_percent, "%"),
    ]
    return [text or "-" for text in found]


def _padded(title: str, text: str, width: int) -> str:
    return text.rjust(width) if title in FIGURES else text.ljust(width)


def _size(count: int | None) -> str:
    return "" if count is None else size(count)


def _unit(number: int | None, unit: str = "") -> str:
    return "" if number is None else f"{number} {unit}".rstrip()


def before_erase(drive: DriveRow) -> Iterator[str]:
    """Return what is about to be erased."""
    yield f"All data on this drive will be lost: {drive.serial}, {drive.model}, {_size(drive.size_bytes)}"
    yield f"  Bay:      {drive.bay or 'unknown'}"
    yield f"  Verdict:  {verdict(drive)}"


def erased(ended: Erasure) -> Iterator[str]:
    """Return how a drive was erased, and what that does not prove."""
    yield f"drive {ended.serial} is erased and blank ({ended.method})"
    if ended.unproved:
        yield f"Not proved: {ended.unproved}."


def located(found: Located) -> Iterator[str]:
    """Return which LED of a drive blinked, and where."""
    place = f"bay {found.bay} ({found.serial})" if found.bay else f"drive {found.serial}"
    yield f"{place}: the {found.by} was on"


def erase_bar(lines: Iterable[EraseLine]) -> EraseLine | None:
    """Show the progress of an erasure as a bar on stderr; return the last document."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    with Progress(TextColumn("{task.description}"), BarColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task("starting", total=None)
        last = None
        for last in lines:
            if isinstance(last, EraseProgress):
                bar.update(task, description=_pace(last), completed=last.done or 0, total=last.total)
    return last


def _pace(progress: EraseProgress) -> str:
    return f"{progress.what}{pace(progress.bytes_per_second, progress.seconds_left)}"
