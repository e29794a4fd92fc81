# SPDX-License-Identifier: Apache-2.0
"""The settings before Millrace changed them, kept for this boot: what `--revert` restores."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from millrace.system import locks, paths
from millrace.system.documents import read_model, write_model
from millrace.system.errors import MillraceError
from millrace.tune.model import Originals


class SavedOriginals:
    """The originals of this boot. A file that cannot be parsed counts as missing: tuning works without it."""

    def __init__(self) -> None:
        self._path = _directory() / "tune-originals.json"
        try:
            self._known = read_model(self._path, Originals)
        except (MillraceError, OSError):
            self._known = Originals()

    def original(self, label: str) -> str | None:
        """Return what was set first; None where Millrace never changed it in this boot."""
        return self._known.values.get(label)

    def labels(self) -> set[str]:
        """Return the labels of all settings that Millrace changed in this boot."""
        return set(self._known.values)

    def is_managed(self, label: str) -> bool:
        """Whether the kernel refused this setting before."""
        return label in self._known.managed

    def save(self, values: Mapping[str, str]) -> None:
        """Keep `values` (by label) before they are changed; what is already kept is older and stays."""
        self._keep(self._known.model_copy(update={"values": {**values, **self._known.values}}))

    def mark_managed(self, label: str) -> None:
        """Do not try this setting again in this boot."""
        self._keep(self._known.model_copy(update={"managed": [*self._known.managed, label]}))

    def mark_rejected(self, label: str, value: str) -> None:
        """Do not try this value again in this boot."""
        self._keep(self._known.model_copy(update={"given_up": {**self._known.given_up, label: value}}))

    def was_rejected(self, label: str, value: str) -> bool:
        """Whether this value was tried before and not accepted."""
        return self._known.given_up.get(label) == value

    def _keep(self, known: Originals) -> None:
        self._known = known
        write_model(self._path, known)


def tune_lock() -> AbstractContextManager[None]:
    """Wait for another `millrace tune`: two at once would keep each other's values as originals."""
    return locks.held(_directory() / "tune.lock")


def _directory() -> Path:
    return paths.run_dir()
