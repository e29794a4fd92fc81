# SPDX-License-Identifier: Apache-2.0
"""Samba's SIDs by name, as secrets.tdb has them: a random one where there is none, as `net getlocalsid` makes it."""

import struct
from collections.abc import Callable, Sequence
from pathlib import Path

from millrace.system.run import Result

TAKEN = ("tdbdump -k SECRETS/SID/* *", "net getlocalsid", "net setlocalsid *", "net cache flush")
FIRST = "S-1-5-21-11-22-33"
LISTED = "".join(
    f"---------------\nUnix username:        {name}\nNT username:          \nUser SID:             {FIRST}-{rid}\n"
    for name, rid in (("anna", 1000), ("bert", 1001))
)


class SambaSids:
    """`sids` by name of the server, `name` is the one that smb.conf has; `flushed` counts flushes of the cache."""

    def __init__(self, name: Callable[[], str]) -> None:
        self.name = name
        self.sids: dict[str, str] = {}
        self.flushed = 0

    def tdbdump(self, words: Sequence[str]) -> Result:
        """As tdb-tools 1.4.15: the value alone, what is not printable as \\XX."""
        assert words[0] == "-k" and words[2].endswith("var/lib/samba/private/secrets.tdb")
        sid = self.sids.get(words[1].removeprefix("SECRETS/SID/"))
        return Result(0, dumped(sid), "") if sid else Result(1, "", "")

    def net(self, words: Sequence[str]) -> Result:
        if words[0] == "getlocalsid":
            sid = self.sids.setdefault(self.name(), FIRST)
            return Result(0, f"SID for domain {self.name()} is: {sid}\n", "")
        if words[0] == "setlocalsid":
            self.sids[self.name()] = words[1]
        elif words == ["cache", "flush"]:
            self.flushed += 1
        return Result(0, "", "")


def dumped(sid: str) -> str:
    numbers = [int(number) for number in sid.split("-")[3:]]
    data = struct.pack("<BB6s15I", 1, 4, b"\0\0\0\0\0\5", *numbers, *[0] * (15 - len(numbers)))
    return "".join(chr(one) if 0x20 <= one < 0x7F and chr(one) not in '"\\' else f"\\{one:02X}" for one in data)


def netbios_name(root: Path) -> str:
    """The name in smb.conf, else that of the host."""
    path = root / "etc/samba/smb.conf"
    lines = path.read_text().splitlines() if path.exists() else []
    return next((line.partition("= ")[2] for line in lines if line.startswith("netbios name")), "HOST")
