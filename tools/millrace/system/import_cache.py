# SPDX-License-Identifier: Apache-2.0
"""What a process had to import, and which schemas it had to build: a process that stays does so once for all others."""

import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Learnt:
    """Names of modules and of classes of documents (`module:class`); as JSON an object of the same two lists."""

    modules: Collection[str] = ()
    built: Collection[str] = ()


@dataclass
class _Told:
    """What the processes of this one had to import and build."""

    modules: set[str] = field(default_factory=set)
    built: set[str] = field(default_factory=set)


_told = _Told()


def now() -> Learnt:
    """Return what is imported and built in this process."""
    return Learnt(set(sys.modules), {name_of(model) for model in models() if model.__pydantic_complete__})


def since(before: Learnt) -> dict[str, list[str]]:
    """Return what this process and those of it, as far as they told, had to import and build since then."""
    found = now()
    # in the order of the imports: a package comes before what is in it
    modules = [name for name in sys.modules if name not in before.modules]
    more = sorted(_told.modules - set(before.modules) - set(modules))
    built = (set(found.built) | _told.built) - set(before.built)
    return {"modules": [*modules, *more], "built": sorted(built)}


def add(said: dict[str, list[str]]) -> None:
    """Remember what a process of this one had to import and build."""
    _told.modules.update(said["modules"])
    _told.built.update(said["built"])


def models() -> Iterator[Any]:
    """Every class of a document that is known."""
    pydantic = sys.modules.get("pydantic")
    waiting = [pydantic.BaseModel] if pydantic else []
    while waiting:
        for model in waiting.pop().__subclasses__():
            waiting.append(model)
            yield model


def name_of(model: Any) -> str:
    """Return the name of a class of a document, `module:class`."""
    return f"{model.__module__}:{model.__qualname__}"
