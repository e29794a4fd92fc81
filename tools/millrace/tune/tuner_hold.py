# SPDX-License-Identifier: Apache-2.0
"""Settings that a run of the tuner tries: another run of `millrace tune` leaves them alone until it has ended.

What begins one is an event, such as a link that comes back after its port got other rings. They are held with a lock:
a tuner that was killed holds nothing.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from millrace.system import locks, paths
from millrace.system.errors import Refused

SENTENCE = "settings that the tuner tries are not changed: `millrace tuner status`"


@contextmanager
def held(endings: Sequence[str]) -> Iterator[None]:
    """Hold all settings whose labels have such an ending while this lasts. Refused: the caller is not root."""
    with locks.held(_file(), note=json.dumps(list(endings))):
        yield


def endings() -> tuple[str, ...]:
    """Return what the labels of the settings end in that are held; nothing where that cannot be read."""
    if not _file().exists():
        return ()
    try:
        with locks.held(_file(), SENTENCE):
            return ()
    except Refused:
        with suppress(ValueError):
            return tuple(json.loads(locks.doing(_file())))
        return ()


def _file() -> Path:
    return paths.run_dir() / "tuner.held"
