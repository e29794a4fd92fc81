# SPDX-License-Identifier: Apache-2.0
"""Run what job.json names, and write one JSON object a line."""

import json
import sys
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from host.perf.guest.job import RESULTS
from host.perf.guest.shell import run
from tests.kernel.guest import forced, grown_legs, nvmet, reads, refused, rounds, snapshots

WORK: dict[str, Callable[..., Iterable[dict[str, Any]]]] = {
    "refused": refused.cases,
    "errors": lambda: (one() for one in (refused.unreadable, refused.replacement, refused.recovered)),
    "reads": reads.cases,
    "forced": forced.cases,
    "grown_legs": grown_legs.cases,
    "nvmet": nvmet.cases,
    "rounds": rounds.rounds,
    "snapshots": snapshots.cases,
}


def main() -> None:
    """The last line is that all is done, or the error."""
    job = json.loads(Path("job.json").read_text())
    run("stty", "-F", RESULTS, "raw")
    run("modprobe", "raid456")
    with open(RESULTS, "w") as out:

        def say(record: dict[str, Any]) -> None:
            out.write(json.dumps(record) + "\n")
            out.flush()

        try:
            for name in job.pop("work"):
                for record in WORK[name](**job.get(name, {})):
                    say({"work": name} | record)
            say({"done": True})
        except Exception:
            say({"failed": traceback.format_exc()})
            sys.exit(1)


if __name__ == "__main__":
    main()
