# SPDX-License-Identifier: Apache-2.0
"""The files of users and groups below the root of a fake server, and the numbers in them."""

from collections.abc import Iterator, Mapping, MutableMapping
from pathlib import Path

# other fields of a line than name and number
_REST = {"passwd": ("{0}", "", "/", "/bin/sh"), "group": ("",)}
_BESIDE = {"passwd": ("shadow", "{}:*:20000::::::"), "group": ("gshadow", "{}:*::")}
MODES = {"passwd": 0o644, "group": 0o644, "shadow": 0o640, "gshadow": 0o640}


class Numbers(MutableMapping[str, int]):
    """The numbers of passwd(5) or group(5) by name; a name that gets one also stands in shadow(5) or gshadow(5)."""

    def __init__(self, root: Path, database: str) -> None:
        self._root, self._database = root, database

    def __getitem__(self, name: str) -> int:
        return self.read()[name]

    def __setitem__(self, name: str, number: int) -> None:
        rest = ":".join(_REST[self._database]).format(number)
        self._write(self._database, name, f"{name}:x:{number}:{rest}")
        beside, line = _BESIDE[self._database]
        self._write(beside, name, line.format(name))

    def __delitem__(self, name: str) -> None:
        self[name]
        for file in (self._database, _BESIDE[self._database][0]):
            self._write(file, name, None)

    def __iter__(self) -> Iterator[str]:
        return iter(self.read())

    def __len__(self) -> int:
        return len(self.read())

    def read(self) -> dict[str, int]:
        """Return all numbers by name."""
        fields = [line.split(":") for line in (self._root / "etc" / self._database).read_text().splitlines()]
        return {row[0]: int(row[2]) for row in fields if len(row) > 2 and row[2].isdigit()}

    def _write(self, file: str, name: str, line: str | None) -> None:
        path = self._root / "etc" / file
        lines = [kept for kept in path.read_text().splitlines() if kept.partition(":")[0] != name]
        path.write_text("".join(f"{kept}\n" for kept in (*lines, *filter(None, [line]))))


class Accounts(dict[str, Numbers]):
    """`passwd` and `group` of a server that has these users and groups, by their numbers, and no others."""

    def __init__(self, root: Path, numbers: Mapping[str, Mapping[str, int]]) -> None:
        super().__init__({database: Numbers(root, database) for database in ("passwd", "group")})
        self._root = root
        self.reset(numbers)

    def reset(self, numbers: Mapping[str, Mapping[str, int]]) -> None:
        """Forget all that is there for these."""
        (self._root / "etc").mkdir(exist_ok=True)
        for file, mode in MODES.items():
            (self._root / "etc" / file).write_text("")
            (self._root / "etc" / file).chmod(mode)
        for database, those in numbers.items():
            self[database].update(those)

    def set_passwords(self, values: Mapping[str, str]) -> None:
        """Set what shadow(5) has as the passwords of users."""
        path = self._root / "etc/shadow"
        rows = [line.split(":") for line in path.read_text().splitlines()]
        assert values.keys() <= {row[0] for row in rows}
        for row in rows:
            row[1:2] = [values[row[0]]] if row[0] in values else row[1:2]
        path.write_text("".join(f"{':'.join(row)}\n" for row in rows))

    def row(self, file: str, name: str) -> list[str]:
        """Return the fields of a name in a file; empty where it has none."""
        lines = (self._root / "etc" / file).read_text().splitlines()
        return next((line.split(":") for line in lines if line.partition(":")[0] == name), [])

    def members(self, group: str) -> list[str]:
        """Return the members of a group."""
        return [name for name in self.row("group", group)[3].split(",") if name]
