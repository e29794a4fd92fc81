# SPDX-License-Identifier: Apache-2.0
"""Where volumes are: one directory each, made elsewhere and renamed to its place, so that it is there or not."""

import os
from contextlib import AbstractContextManager
from pathlib import Path

from millrace.serve.volume.model import Exports, Volume, volume_name
from millrace.system import locks, paths
from millrace.system.documents import read_model, write_model
from millrace.system.errors import BadInput, Failed, Refused
from millrace.system.files import sync
from millrace.system.run import Runner, must
from millrace.system.trees import nofollow

DATA, IDENTITY = "data", "volume.json"


class Store:
    """The volumes of the pool that is mounted at `mountpoint`. No client reaches its directory: only root enters."""

    def __init__(self, mountpoint: str) -> None:
        self.top = paths.ROOT / mountpoint.lstrip("/") / paths.VOLUMES
        self._volumes = self.top / "volumes"
        self._stage = self.top / "stage"

    def change(self) -> AbstractContextManager[None]:
        """Hold the lock of changes. Refused: the caller is not root, or another change is under way."""
        return locks.held(paths.run_dir() / "volume/lock", "another change of volumes is under way: try again later")

    def prepare(self) -> None:
        """Create the directories, for root only. OSError: the pool cannot be written. Failed: they are another's."""
        self._require_own()
        for directory in (self.top, self._volumes, self._stage):
            directory.mkdir(mode=0o700, exist_ok=True)
        sync(self.top)
        sync(self.top.parent)

    def all(self) -> dict[str, Volume]:
        """Return all volumes by name. BadInput: the identity of one cannot be read."""
        names = sorted(os.listdir(self._volumes)) if self._volumes.is_dir() else []
        return {name: read_model(self._volumes / name / IDENTITY, Volume) for name in names}

    def volume(self, name: str) -> Volume:
        """Return a volume. Refused: there is none of this name. BadInput: `name` is no name."""
        try:
            volume_name(name)
        except ValueError as error:
            raise BadInput(str(error)) from error
        if not (self._volumes / name).is_dir():
            raise Refused(f"volume {name} does not exist: millrace volume list")
        return read_model(self._volumes / name / IDENTITY, Volume)

    def data(self, name: str) -> Path:
        """The file that holds the data of a volume."""
        return self._volumes / name / DATA

    def leads_elsewhere(self, name: str) -> bool:
        """Whether what is in place of the data is no file of its own: on adopted drives a link to one of the server."""
        path = self.data(name)
        own = self.top.parent.resolve() / path.relative_to(self.top.parent)
        return os.path.lexists(path) and not (path.is_file() and path.resolve() == own)

    def new(self, volume: Volume) -> Path:
        """Return an empty directory for a volume that is about to be made. OSError: the pool cannot be written."""
        self.prepare()
        place = self._stage / str(volume.uuid)
        place.mkdir(mode=0o700)
        return place

    def finish(self, place: Path, name: str, volume: Volume) -> None:
        """Let a volume that was made at `place` appear, in one step. Refused: the name is taken."""
        write_model(place / IDENTITY, volume, 0o600)
        if (self._volumes / name).exists():
            raise Refused(f"volume {name} already exists: choose another name")
        place.rename(self._volumes / name)
        sync(self._volumes)

    def retire(self, name: str) -> None:
        """Let a volume disappear, in one step; the next sweep frees its blocks. OSError: the pool cannot be written."""
        volume = self.volume(name)
        self.prepare()
        (self._volumes / name).rename(self._stage / str(volume.uuid))
        sync(self._volumes)

    def sweep(self, run: Runner) -> bool:
        """Remove what is not a volume yet, or no more; return whether there was any. Failed: some of it remains."""
        self._require_own()
        rest = sorted(self._stage.iterdir()) if self._stage.is_dir() else []
        for one in rest:
            must(run, ["rm", "-rf", "--one-file-system", "--", str(one)])
        return bool(rest)

    def exports(self) -> Exports:
        """Return the exports of the volumes that exist. BadInput: they cannot be read."""
        path = self._exports()
        found = read_model(path, Exports) if path.exists() else Exports()
        there = {one.uuid for one in self.all().values()}
        # a power cut may leave the export of a volume that had just been removed, or that was about to appear
        return found.model_copy(update={"volumes": {uuid: one for uuid, one in found.volumes.items() if uuid in there}})

    def save_exports(self, exports: Exports) -> None:
        """Write the exports, with the secrets of the hosts that they name. Failed: a power cut could lose them."""
        named = {host for export in exports.volumes.values() for host in export.hosts}
        kept = {host: secret for host, secret in exports.secrets.items() if host in named}
        if exports.volumes:
            write_model(self._exports(), exports.model_copy(update={"secrets": kept}), 0o600)
            return
        try:
            self._exports().unlink(missing_ok=True)
            sync(self.top)
        except OSError as error:
            raise Failed(f"{self._exports()} cannot be removed: {error.strerror}") from error

    def _require_own(self) -> None:
        for directory in (self.top, self._volumes, self._stage):
            nofollow.require_private(directory)

    def _exports(self) -> Path:
        return self.top / "exports.json"
