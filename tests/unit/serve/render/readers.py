# SPDX-License-Identifier: Apache-2.0
"""Services whose entries and reloads are noted."""

from collections.abc import Callable
from dataclasses import dataclass, field

from millrace.serve.render.registry import FileEntry, RenderedService, Settled
from millrace.system.errors import Failed

ONE, TWO = "etc/one.conf", "etc/two.conf"


@dataclass
class Readers:
    """Services that note what was rendered and with which changed files they were reloaded."""

    rendered: list[str] = field(default_factory=list)
    reloaded: list[tuple[str, list[str]]] = field(default_factory=list)

    def entry(self, path: str, text: str, when: bool = True, check: Callable[[str], None] | None = None) -> FileEntry:
        def render() -> str:
            self.rendered.append(path)
            return text

        return FileEntry(path, render, when=when, check=check)

    def service(self, unit: str, *entries: FileEntry) -> RenderedService:
        def reload(settled: Settled) -> bool:
            mine = [one.path for one in entries if one.path in settled.changed]
            self.reloaded.append((unit, mine))
            return bool(mine)

        return RenderedService(unit, entries, reload)


def refuse(text: str) -> None:
    raise Failed(f"{text} is not taken")
