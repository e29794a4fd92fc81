# SPDX-License-Identifier: Apache-2.0
"""Each key of a TOML text has its line."""

import tomllib
from typing import Any

import pytest

from millrace.cli.apply.lines import lines_of

TEXT = '''\
# a comment with [brackets] and "quotes"
top = 1 # and one behind

[shares.data]
type = "mixed"
comment = """
two ] lines
= of text"""
nfs = { clients = [ {client = "10.0.0.0/8"}, { client = '10.1.0.0/16' } ], enabled = true }
"quoted \\u00e9" = [
  "first", # one

  "second",
]
smb.audit = true

[[bonds]]
name = "a"
[bonds.inner]
key = 1
[[bonds]]
name = \'\'\'b\'\'\'
'''


def test_each_key_has_its_line() -> None:
    lines = lines_of(TEXT)
    assert lines["top",] == 2
    assert lines["shares", "data"] == 4
    assert lines["shares", "data", "comment"] == 6
    assert lines["shares", "data", "nfs"] == 9
    assert lines["shares", "data", "nfs", "clients", 1, "client"] == 9
    assert lines["shares", "data", "quoted é", 1] == 13
    assert lines["shares", "data", "smb", "audit"] == 15
    assert lines["bonds", 0, "inner", "key"] == 20
    assert lines["bonds", 1, "name"] == 22


def places(value: Any, at: tuple[Any, ...] = ()) -> set[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return {at, *(place for key, one in inner for place in places(one, (*at, key)))}


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        "",
        "a = 1979-05-27T07:32:00Z\nb = [1_000, 0x1f, -inf]\n",
        'a = """one ""quoted"" and \\""" escaped"""\nb = 1\n',
        "a = '''it''s'''''\nb.c = 1\n",
        'a = "x" \r\n[b]\r\nc = {d = []}\r\n',
        "[a]\n[a.b.c]\nd = 'e'",
    ],
)
def test_every_place_that_tomllib_finds_has_a_line(text: str) -> None:
    known = set(lines_of(text))
    assert places(tomllib.loads(text)) - known == {()}
