# SPDX-License-Identifier: Apache-2.0
"""Run the job that the host put into the initrd."""

import json
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from host.perf.guest import (
    bitmap,
    chunk_reads,
    chunks,
    commit,
    control,
    cost,
    degraded,
    full,
    iocache,
    job,
    localio,
    log,
    metadata,
    missing,
    newfiles,
    peers,
    readahead,
    rebuild,
    streams,
    stripe,
    transfer,
    trim,
)
from host.perf.guest.lab import Lab
from host.perf.guest.shell import NotMeasurable, run

BENCHMARKS: dict[str, Callable[[Lab], None]] = {
    "control": control.bench,
    "log": log.bench,
    "stripe": stripe.bench,
    "bitmap": bitmap.bench,
    "degraded": degraded.bench,
    "commit": commit.bench,
    "iocache": iocache.bench,
    "transfer": transfer.bench,
    "readahead": readahead.bench,
    "rebuild": rebuild.bench,
    "trim": trim.bench,
    "newfiles": newfiles.bench,
    "newfiles60": newfiles.bench,
    "newfiles12": newfiles.bench,
    "journal": newfiles.bench,
    "localio": localio.bench,
    "streams": streams.bench,
    "farstreams": streams.bench,
    "chunks": chunks.bench,
    "metadata": metadata.bench,
    "cost": cost.protocols,
    "arrays": cost.arrays,
    "peers": peers.bench,
    "missing": missing.bench,
    "fastmissing": missing.bench,
    "chunkreads": chunk_reads.bench,
    "full": full.bench,
}


def main() -> None:
    """Measure; the last line reports that the job is complete, or its error."""
    wanted = job.job(json.loads(Path(job.JOB).read_text()))
    run("stty", "-F", job.RESULTS, "raw")
    with open(job.RESULTS, "w") as out:
        try:
            lab = Lab(wanted, out)
            lab.say(kernel=os.uname().release)
            BENCHMARKS[wanted.benchmark](lab)
            lab.say(done=True)
        except NotMeasurable as error:
            out.write(json.dumps({"refused": str(error)}) + "\n")
            sys.exit(1)
        except Exception:
            out.write(json.dumps({"failed": traceback.format_exc()}) + "\n")
            sys.exit(1)


if __name__ == "__main__":
    main()
