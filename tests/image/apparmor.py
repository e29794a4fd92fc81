# SPDX-License-Identifier: Apache-2.0
"""What a compiled AppArmor policy allows: its automata are run as the kernel runs them.

Formats: security/apparmor/policy_unpack.c (the stream), security/apparmor/match.c and include/match.h (tables), and
policy_compat.c (the bits of a file's permissions) of kernel 7.2.
"""

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

U8, U16, U32, U64, NAME, STRING, BLOB, STRUCT = range(8)
ARRAY = 11
FIXED = {U8: "<B", U16: "<H", U32: "<I", U64: "<Q", ARRAY: "<H"}
MAGIC = b"\x1b\x5e\x78\x3d"
ACCEPT, BASE, CHECK, DEFAULT, CLASSES, NEXT = 1, 2, 3, 4, 5, 8
ENTRY = {1: "B", 2: "H", 4: "I"}
DIFFERENTIAL = 0x80
START = 1
LETTERS = {"x": 1, "w": 2, "r": 4, "l": 16, "k": 32, "m": 64}

Tables = Mapping[int, Sequence[int]]


def file_rules(policy: Path) -> dict[str, Tables]:
    """Return the automaton of the file rules of each profile in a compiled policy, by the profile's name."""
    data, at = policy.read_bytes(), 0
    rules: dict[str, Tables] = {}
    name, opens = "", False
    while at < len(data):
        kind = data[at]
        at += 1
        if kind in FIXED:
            at += struct.calcsize(FIXED[kind])
        elif kind in (NAME, STRING):
            (length,) = struct.unpack_from("<H", data, at)
            text = data[at + 2 : at + 2 + length].rstrip(b"\0").decode()
            at += 2 + length
            if kind == STRING and opens:
                name = text
            opens = kind == NAME and (text == "profile" or opens)
        elif kind == BLOB:
            (length,) = struct.unpack_from("<I", data, at)
            # of the attachment, of everything else, of files: in this order
            rules[name] = _tables(data[at + 4 : at + 4 + length])
            at += 4 + length
    return rules


def allowed(rules: Tables, path: str) -> str:
    """Return the letters of apparmor.d(5) that a profile allows the owner of a path."""
    bits = rules[ACCEPT][_state(rules, path.encode())]
    return "".join(letter for letter, bit in LETTERS.items() if bits & bit)


def _tables(blob: bytes) -> Tables:
    blob = blob[blob.index(MAGIC) :]
    _, at, whole = struct.unpack_from(">III", blob)
    tables: dict[int, Sequence[int]] = {}
    while at < whole:
        number, size, _, count = struct.unpack_from(">HHII", blob, at)
        tables[number] = struct.unpack_from(f">{count}{ENTRY[size]}", blob, at + 12)
        at += 12 + size * count + 7 & ~7
    return tables


def _state(rules: Tables, text: bytes) -> int:
    state = START
    for letter in text:
        step = rules[CLASSES][letter] if CLASSES in rules else letter
        while rules[CHECK][place := (rules[BASE][state] & 0xFFFFFF) + step] != state:
            differential = rules[BASE][state] >> 24 & DIFFERENTIAL
            state = rules[DEFAULT][state]
            if not differential:
                break
        else:
            state = rules[NEXT][place]
    return state
