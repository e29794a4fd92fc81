# SPDX-License-Identifier: Apache-2.0
"""The directories of runs, of the benchmark and of the tuner: named by their start in UTC, each with a `run.json`."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from millrace.system.errors import BadInput

FILE = "run.json"
_NAME = re.compile(r"\d{8}-\d{6}(-\d+)?")


@dataclass(frozen=True)
class Directories:
    """All runs below `home`; `listed` is the command that lists them, `none` the sentence where there is none."""

    home: Path
    listed: str
    none: str

    def of(self, name: str) -> Path:
        """Return the directory of a run. BadInput: `name` is not the name of a run."""
        if not _NAME.fullmatch(name):
            raise BadInput(f"{name} is not the name of a run: `{self.listed}`")
        return self.home / name

    def new_id(self, now: datetime | None = None) -> str:
        """Return a name that is free: date and time in UTC."""
        stem = (now or datetime.now(UTC)).strftime("%Y%m%d-%H%M%S")
        taken = {one.name for one in self.home.glob(f"{stem}*")}
        return next(name for name in (stem, *(f"{stem}-{n}" for n in range(2, 1000))) if name not in taken)

    def existing(self, name: str) -> Path:
        """Return the document of a run, or of the newest one for `latest`. BadInput: there is none."""
        if name == "latest":
            names = self.ids()
            if not names:
                raise BadInput(self.none)
            name = names[0]
        path = self.of(name) / FILE
        if not path.exists():
            raise BadInput(f"there is no run {name}: `{self.listed}`")
        return path

    def ids(self) -> list[str]:
        """Return the names of all runs, newest first."""
        found = [one.name for one in self.home.glob("*") if _NAME.fullmatch(one.name) and (one / FILE).exists()]
        return sorted(found, reverse=True)
