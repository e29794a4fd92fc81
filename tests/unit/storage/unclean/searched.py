# SPDX-License-Identifier: Apache-2.0
"""An array that was started unclean, the files of its pool, and a search for those in doubt."""

import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from click import Command
from click.testing import CliRunner

from millrace.storage.assemble.unclean import Suspects, TornRows, Unclean, UncleanStarts
from millrace.storage.record.model import Pool
from millrace.storage.unclean import suspects
from millrace.system import paths
from millrace.system.documents import read_model, write_model
from millrace.system.run import Result
from tests.unit.storage.scrub.xfs import Xfs

DISKS, DATA, CHUNK = 10, 8, 128
"""Members and data chunks of the array; sectors of a chunk."""
STRIPES = 32
MISSING = 3
NO_PARITY = "array data: other files are possible, the rows in doubt are a guess (it has no second parity)"


def block(stripe: int, slot: int, inside: int = 0) -> int:
    """The block of XFS that a slot has in a stripe; on the left of the parity data goes on (raid5.c)."""
    parity = DISKS - 1 - stripe % DISKS
    number = (slot - parity - 2) % DISKS
    assert number < DATA, "P or Q"
    return ((stripe * DATA + number) * CHUNK + inside) // 8


def start(**more: Any) -> None:
    """An array was last written now, and started by force five minutes later."""
    now = datetime.now(UTC)
    known = {
        "array": "data",
        "level": "raid6",
        "last_write": now.isoformat(),
        "started": (now + timedelta(minutes=5)).isoformat(),
        "missing": ["D3"],
        "slots": [MISSING],
    }
    write_model(paths.unclean_file(), UncleanStarts(starts=[Unclean.model_validate(known | more)]))
    time.sleep(0.02)


def torn(*rows: tuple[int, int], **more: Any) -> None:
    start(check="found", torn=[TornRows(begin=begin, end=end) for begin, end in rows], **more)


def search(xfs: Xfs) -> UncleanStarts | None:
    def run(argv: Sequence[str], stdin: str | None = None) -> Result:
        assert list(argv[:3]) == ["xfs_io", "-r", "-c"]
        return xfs.fsmap(argv[3], argv[4])

    return suspects.search(read_model(paths.pool_file(), Pool), run)


def found(xfs: Xfs) -> Suspects:
    answer = search(xfs)
    assert answer is not None and answer.suspects is not None
    return answer.suspects


def outside(**more: Any) -> None:
    """An array broke now, and was started by hand with a member that had left before."""
    start(outside=True, missing=[], slots=None, **more)


OUTSIDE = "array data: other files are possible, its members may differ in any row"


def says(verb: Command, *words: str) -> str:
    result = CliRunner().invoke(verb, list(words), catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout
