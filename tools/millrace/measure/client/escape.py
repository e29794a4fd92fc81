# SPDX-License-Identifier: Apache-2.0
"""How paths and values are spelled in unit names, unit files and /etc/fstab.

By hand: systemd-escape is a process for each name of a recipe, and spells no field of /etc/fstab; a test compares both.
"""

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:_.")


def unit_name(path: str, suffix: str) -> str:
    """Return the name of the unit of a path, as `systemd-escape --path --suffix=` does; systemd.unit(5)."""
    parts = [part for part in path.split("/") if part]
    text = "/".join(parts)
    if not text:
        return f"-.{suffix}"
    escaped = "".join(_escape(byte, first=position == 0) for position, byte in enumerate(text.encode()))
    return f"{escaped}.{suffix}"


def _escape(byte: int, first: bool) -> str:
    character = chr(byte)
    if character == "/":
        return "-"
    if character in _PLAIN and not (first and character == "."):
        return character
    return f"\\x{byte:02x}"


def fstab_field(text: str) -> str:
    """Return a field of /etc/fstab; blanks and backslashes are octal (fstab(5))."""
    return "".join(f"\\{ord(one):03o}" if one in " \t\n\\#" else one for one in text)


def unit_value(text: str) -> str:
    """Return a value for a unit file, where `%` begins a specifier."""
    return text.replace("%", "%%")
