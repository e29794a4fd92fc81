# SPDX-License-Identifier: Apache-2.0
"""The sheets to read and copy; what is not a command is a comment."""

from millrace.measure.client.mlperf.model import Sheet, Submission
from millrace.system.text import size

CLOUD = "# deployment is onprem or cloud: in a cloud delete rack_units and power of each node, and total_rack_units."


def lines(submission: Submission) -> list[str]:
    """Return the description and every sheet."""
    head = [
        f"# MLPerf Storage {submission.edition}: description of this server and commands for the clients. "
        "Not a result.",
        f"# ==== {submission.system.path}",
        *submission.system.text.rstrip("\n").split("\n"),
        "",
        f"# Fill in before the validation ({len(submission.unknown)} fields): mlpstorage validate names them, too.",
        *(f"# - {path}" for path in submission.unknown),
        *([CLOUD] if "system_under_test.deployment" in submission.unknown else []),
    ]
    return [*head, *(line for sheet in submission.sheets for line in ("", *_sheet(sheet)))]


def _sheet(one: Sheet) -> list[str]:
    found = [f"# ==== {one.kind} {one.model}"]
    if one.size is not None:
        space = "fits into the pool" if one.fits else "does not fit into the pool"
        found.append(f"# {size(one.size)}{f' in {one.files} files' if one.files else ''}: {space}")
    if one.forecast:
        count = "unknown" if one.forecast.count is None else str(one.forecast.count)
        found.append(f"# {one.forecast.accelerator}: {count}. {one.forecast.text}")
    return [*found, *one.commands, *(f"# - {note.text} [{note.source}]" for note in one.notes)]
