# SPDX-License-Identifier: Apache-2.0
"""Settings that a run of the tuner tries: another run of `millrace tune` leaves them alone until it has ended.

What begins one is an event, such as a link that comes back after its port got other rings.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from millrace import paths
from millrace.errors import MillraceError
from millrace.system.documents import Contract, read_model, write_model

SENTENCE = "settings that the tuner tries are not changed: `millrace tuner status`"


class Held(Contract):
    """What the labels of the settings end in (`/run/millrace/tune-held.json`)."""

    endings: list[str]


@contextmanager
def held(endings: Sequence[str]) -> Iterator[None]:
    """Hold all settings with such a label while this lasts. OSError: it cannot be recorded."""
    write_model(_file(), Held(endings=list(endings)))
    try:
        yield
    finally:
        release()


def release() -> None:
    """Hold nothing any more, also what a run that was killed has held."""
    _file().unlink(missing_ok=True)


def endings() -> tuple[str, ...]:
    """Return what is held; nothing where that cannot be read."""
    try:
        return tuple(read_model(_file(), Held).endings)
    except (MillraceError, OSError):
        return ()


def _file() -> Path:
    return paths.run_dir() / "tune-held.json"
