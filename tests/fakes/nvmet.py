# SPDX-License-Identifier: Apache-2.0
"""The kernel's nvmet in configfs, as strict as drivers/nvme/target/configfs.c of 7.2: what it refuses fails here, too.

`left` counts the operations that are still done: at 0 the process is killed, as by a power cut of the unit.
"""

import errno
import os
from uuid import UUID

NAMESPACE = ("device_path", "device_nguid", "device_uuid", "enable", "buffered_io", "resv_enable", "ana_grpid")
SUBSYSTEM = ("attr_allow_any_host", "attr_serial", "attr_model", "attr_version")
HOST = ("dhchap_key", "dhchap_ctrl_key", "dhchap_hash", "dhchap_dhgroup")
PORT = ("addr_trtype", "addr_adrfam", "addr_traddr", "addr_trsvcid")


class Killed(BaseException):
    """The process ends here."""


def refused(number: int) -> OSError:
    return OSError(number, os.strerror(number))


class FakeNvmet:
    def __init__(self) -> None:
        self.attributes: dict[str, dict[str, str]] = {}
        self.links: dict[str, str] = {}
        self.unusable: set[str] = set()
        self.sizes: dict[str, int] = {}
        self.dropped: list[str] = []
        self.left: int | None = None
        self.changes = 0

    def names(self, place: str) -> list[str]:
        start = f"{place}/"
        return sorted(one[len(start) :] for one in (*self.attributes, *self.links) if self._parent(one) == place)

    def read(self, place: str) -> str | None:
        parent, _, name = place.rpartition("/")
        return self.attributes.get(parent, {}).get(name) or None

    def write(self, place: str, value: str) -> None:
        self._tick()
        parent, _, name = place.rpartition("/")
        kind = self._kind(parent)
        if parent not in self.attributes or (name not in self._known(kind) and name != "revalidate_size"):
            raise refused(errno.ENOENT)
        if not value:
            raise refused(errno.EINVAL)
        own = self.attributes[parent]
        if kind == "namespaces":
            self._namespace(parent, name, value, own)
        elif kind == "ports" and self.names(f"{parent}/subsystems"):
            raise refused(errno.EACCES)
        elif kind == "subsystems" and name == "attr_allow_any_host" and value == "1":
            raise AssertionError("any host would be let in")
        else:
            own[name] = value

    def make(self, place: str) -> None:
        self._tick()
        kind = self._kind(place)
        if place in self.attributes:
            raise refused(errno.EEXIST)
        above = place.rpartition("/namespaces/")[0]
        if kind == "namespaces" and above not in self.attributes:
            raise refused(errno.ENOENT)
        self.attributes[place] = dict.fromkeys(self._known(kind), "")
        if kind == "namespaces":
            self.attributes[place] |= {"enable": "0", "buffered_io": "0", "resv_enable": "0"}

    def remove(self, place: str) -> None:
        self._tick()
        if place not in self.attributes:
            raise refused(errno.ENOENT)
        if any(one.startswith(f"{place}/") for one in (*self.attributes, *self.links)):
            raise refused(errno.ENOTEMPTY)
        if place in self.links.values():
            raise refused(errno.EBUSY)
        del self.attributes[place]

    def link(self, place: str, target: str) -> None:
        self._tick()
        parent, _, name = place.rpartition("/")
        if target not in self.attributes or parent.rpartition("/")[0] not in self.attributes:
            raise refused(errno.ENOENT)
        if place in self.links:
            raise refused(errno.EEXIST)
        port = self.attributes[parent.rpartition("/")[0]]
        if parent.startswith("ports/"):
            if not all(port.values()):
                raise refused(errno.EINVAL)
            if port["addr_traddr"] in self.unusable:
                raise refused(errno.EADDRNOTAVAIL)
            twins = [path for path, held in self.attributes.items() if path.startswith("ports/") and held == port]
            if sum(bool(self.names(f"{twin}/subsystems")) for twin in twins):
                raise refused(errno.EADDRINUSE)
        assert name == target.rpartition("/")[2]
        self.links[place] = target

    def unlink(self, place: str) -> None:
        self._tick()
        if place not in self.links:
            raise refused(errno.ENOENT)
        if place.startswith("ports/"):
            self.dropped.append(place.rpartition("/")[2])
        del self.links[place]

    def _namespace(self, parent: str, name: str, value: str, own: dict[str, str]) -> None:
        if name == "revalidate_size":
            if own["enable"] != "1":
                raise refused(errno.EINVAL)
            self.sizes[parent] = os.stat(own["device_path"]).st_size
            return
        if name == "enable":
            if value == "1":
                self.sizes[parent] = os.stat(own["device_path"]).st_size
            own["enable"] = value
            return
        if own["enable"] == "1":
            raise refused(errno.EBUSY)
        own[name] = str(UUID(value)) if name in ("device_uuid", "device_nguid") else value

    @staticmethod
    def _parent(place: str) -> str:
        return place.rpartition("/")[0]

    @staticmethod
    def _kind(place: str) -> str:
        return place.split("/")[-2]

    @staticmethod
    def _known(kind: str) -> tuple[str, ...]:
        return {"namespaces": NAMESPACE, "subsystems": SUBSYSTEM, "hosts": HOST, "ports": PORT}[kind]

    def _tick(self) -> None:
        if self.left is not None:
            if self.left == 0:
                raise Killed
            self.left -= 1
        self.changes += 1
