# SPDX-License-Identifier: Apache-2.0
"""Which files were written in the last minutes before a power cut that left a degraded array unclean."""

import os
import time
from datetime import datetime

from millrace import paths
from millrace.errors import Refused
from millrace.provision.unclean import Suspects, UncleanStarts, pending, save_suspects
from millrace.system.walk import regular_files

MARGIN = 120.0
"""Seconds before md's last superblock that are in doubt as well."""

LISTED = 1000
"""How many names are kept."""

LIMIT = 600.0
"""Seconds for the whole search."""


def search(mountpoint: str) -> UncleanStarts | None:
    """Search for them once and keep the names, a line each; return None where there is nothing to search for.

    Return None also where the starts are acknowledged during the search. A file is in doubt by the time of its last
    change, which no client can set. Refused: nothing is mounted.
    """
    starts = pending()
    if starts is None or starts.suspects is not None:
        return starts
    top = paths.ROOT / mountpoint.lstrip("/")
    if not os.path.ismount(top):
        raise Refused(f"{mountpoint} is not mounted; see `systemctl status srv-pool.mount`")
    windows = [(_seconds(one.last_write) - MARGIN, _seconds(one.started)) for one in starts.starts]
    count, names, complete = 0, list[str](), True
    end = time.monotonic() + LIMIT
    # Without the server's own directory, in which the heartbeat writes twice a minute.
    for name, held in regular_files(top, paths.POOL_OWN):
        if name is None or held is None or time.monotonic() > end:
            complete = False
            break
        if any(begin <= held.st_ctime <= until for begin, until in windows):
            count += 1
            if len(names) < LISTED:
                names.append(name)
    found = Suspects(count=count, listed=len(names), complete=complete)
    return save_suspects(starts.model_copy(update={"suspects": found}), names)


def names() -> list[str]:
    """Return the names that were kept, relative to the pool; control characters are escaped."""
    try:
        return paths.suspects_file().read_text().splitlines()
    except FileNotFoundError:
        return []


def _seconds(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp()
