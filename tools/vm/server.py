# SPDX-License-Identifier: Apache-2.0
"""What is in a virtual server: tests/servers/*.toml, read and checked."""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from millrace.system.errors import BadInput

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
# An NVMe serial number has 20 characters (NVM Express base specification, Identify Controller).
SERIAL = r"^[A-Z]+[0-9]+$"
# Slots 0x00-0x13 of a node's bus hold drives, 0x14-0x1f NICs.
DRIVES_PER_NODE = 20
NICS_PER_NODE = 12


def parse_size(value: Any) -> Any:
    """Return `value` ("2G", "512M", or bytes) as bytes; raise ValueError for anything else."""
    if isinstance(value, str):
        match = re.fullmatch(r"(\d+)([KMGT]?)", value)
        if match is None:
            raise ValueError('write a size as a number with K, M, G or T, such as "2G"')
        return int(match[1]) * UNITS[match[2]]
    return value


Size = Annotated[int, BeforeValidator(parse_size), Field(gt=0)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Node(_Table):
    """A NUMA node: `memory` in bytes."""

    cpus: int = Field(ge=1, le=64)
    memory: Size


class DriveGroup(_Table):
    """`count` equal NVMe drives; serials count up from `serial`; `block` is the logical block size in bytes."""

    count: int = Field(ge=1, le=64)
    size: Size
    serial: str = Field(pattern=SERIAL, max_length=20)
    node: int = Field(ge=0, default=0)
    block: int = Field(default=4096)


class Nic(_Table):
    """A data port."""

    node: int = Field(ge=0, default=0)


class _File(_Table):
    description: str
    boot_disk: Size
    nodes: list[Node] = Field(min_length=1, max_length=4)
    drives: list[DriveGroup] = []
    nics: list[Nic] = []

    @model_validator(mode="after")
    def _consistent(self) -> "_File":
        for group in self.drives:
            if group.node >= len(self.nodes):
                raise ValueError(f"drives: node {group.node} does not exist")
            if group.block not in {512, 4096}:
                raise ValueError(f"drives: block {group.block} is neither 512 nor 4096")
        for nic in self.nics:
            if nic.node >= len(self.nodes):
                raise ValueError(f"nics: node {nic.node} does not exist")
        for node in range(len(self.nodes)):
            if sum(group.count for group in self.drives if group.node == node) > DRIVES_PER_NODE:
                raise ValueError(f"drives: node {node} has more than {DRIVES_PER_NODE}")
            if sum(nic.node == node for nic in self.nics) > NICS_PER_NODE:
                raise ValueError(f"nics: node {node} has more than {NICS_PER_NODE}")
        return self


@dataclass(frozen=True)
class Drive:
    """One NVMe drive; `size` and `block` in bytes."""

    serial: str
    size: int
    node: int
    block: int


@dataclass(frozen=True)
class Server:
    """A virtual server; `boot_disk` in bytes."""

    name: str
    description: str
    boot_disk: int
    nodes: tuple[Node, ...]
    drives: tuple[Drive, ...]
    nics: tuple[Nic, ...]

    @property
    def cpus(self) -> int:
        """All CPUs of all nodes."""
        return sum(node.cpus for node in self.nodes)

    @property
    def memory(self) -> int:
        """Memory of all nodes in bytes."""
        return sum(node.memory for node in self.nodes)


def _expand(group: DriveGroup) -> list[Drive]:
    letters = group.serial.rstrip("0123456789")
    digits = group.serial[len(letters) :]
    serials = [f"{letters}{int(digits) + i:0{len(digits)}d}" for i in range(group.count)]
    return [Drive(serial, group.size, group.node, group.block) for serial in serials]


def _sentence(path: Path, error: ValidationError) -> str:
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    what = str(first["msg"]).removeprefix("Value error, ")
    return f"{path}: {where}: {what}." if where else f"{path}: {what}."


def load(path: Path) -> Server:
    """Read a server file; raise BadInput with the file and the key where it is wrong."""
    try:
        table = tomllib.loads(path.read_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{path} is not TOML: {error}.") from error
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}.") from error
    try:
        file = _File.model_validate(table)
    except ValidationError as error:
        raise BadInput(_sentence(path, error)) from error
    drives = tuple(drive for group in file.drives for drive in _expand(group))
    twice = {d.serial for d in drives if sum(other.serial == d.serial for other in drives) > 1}
    if twice:
        raise BadInput(f"{path}: drives: serial {min(twice)} is there twice.")
    return Server(path.stem, file.description, file.boot_disk, tuple(file.nodes), drives, tuple(file.nics))


def find(name: str, directory: Path) -> Server:
    """Return the server called `name`; raise BadInput with the known names where there is none."""
    known = sorted(path.stem for path in directory.glob("*.toml"))
    if name not in known:
        raise BadInput(f"There is no server {name!r} in {directory}; known are: {', '.join(known) or 'none'}.")
    return load(directory / f"{name}.toml")
