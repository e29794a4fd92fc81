# SPDX-License-Identifier: Apache-2.0
"""Reads the file of `millrace apply`: all that is wrong with it at once, each with its line and what is allowed."""

import os
import stat
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from millrace.cli.apply.lines import Place, lines_of
from millrace.cli.apply.model import ServerFile
from millrace.system.errors import BadInput
from millrace.system.model_errors import reason
from millrace.system.text import shown

# 4,000 shares are a MiB.
LARGEST = 16 << 20
LONGEST_SECRET = 2000
HASHES = ("password_hash", "smb_hash")


class FileProblems(BadInput):
    """What is wrong with a file: `problems` are sentences, each with the line."""

    def __init__(self, path: Path, problems: Iterable[str]) -> None:
        self.problems = list(problems)
        more = f" (and {len(self.problems) - 1} more problems)" if len(self.problems) > 1 else ""
        super().__init__(f"{self.problems[0]}{more}; nothing was changed")
        self.path = path


@dataclass
class Reading:
    """A file that was read, the line of each key, and what was wrong with it so far."""

    path: Path
    document: ServerFile
    lines: Mapping[Place, int]
    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def problem(self, place: Place, sentence: str) -> None:
        """Note what is wrong at a place."""
        self.problems.append(located(self.path, self.lines, place, sentence))

    def refuse(self) -> None:
        """Raise what was noted. FileProblems: there was any."""
        if self.problems:
            raise FileProblems(self.path, self.problems)

    def secret(self, place: Place, path: str) -> str | None:
        """Return the first line of a secret's file; note a problem and return None where it is not one to trust."""
        try:
            return _secret(path)
        except (OSError, UnicodeDecodeError, ValueError) as error:
            self.problem(place, f"{shown(path)} {getattr(error, 'strerror', None) or error}")
            return None


def read(path: Path) -> Reading:
    """Read a file. FileProblems: keys or values are wrong. BadInput: it cannot be read, or is no TOML."""
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            data = file.read(LARGEST + 1)
        text = data.decode()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if len(data) > LARGEST:
        raise BadInput(f"{path} has more than {LARGEST >> 20} MiB")
    reading = parse(text, path)
    if stat.S_ISREG(mode) and mode & 0o077 and _has_secret(reading.document):
        reading.warnings.append(f"{path} has password hashes and is readable for others: chmod 600 {path}")
    return reading


def parse(text: str, path: Path) -> Reading:
    """Parse the text of a file; `path` stands in errors.

    FileProblems: keys or values are wrong. BadInput: it is no TOML.
    """
    try:
        values = tomllib.loads(text)
        lines = lines_of(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise BadInput(f"{path} is not valid TOML: {why}") from error
    try:
        return Reading(path, ServerFile.model_validate(values), lines)
    except ValidationError as error:
        raise FileProblems(path, of_model(path, lines, error, (), ServerFile.model_json_schema())) from error


def of_model(
    path: Path, lines: Mapping[Place, int], error: ValidationError, above: Place, schema: Mapping[str, Any]
) -> list[str]:
    """Return what a model refuses, in the order of the lines; `above` is the place of the model in the file."""
    words: dict[Place, dict[str, str]] = {}
    for entry in error.errors():
        words.setdefault(_in_file(lines, (*above, *entry["loc"])), {})[_words(entry, schema)] = entry["type"]
    rows = []
    for place, sentences in words.items():
        # what is wrong inside of a table says more than that it is none of the words that may stand in its place
        inside = any(other[: len(place)] == place and len(other) > len(place) for other in words)
        if not (inside and set(sentences.values()) == {"literal_error"}):
            name = ".".join(map(str, place)) or "the file"
            rows.append((lines.get(place, 0), f"{name}: {', or '.join(sentences)}"))
    return [_with_line(path, line, sentence) for line, sentence in sorted(rows)]


def located(path: Path, lines: Mapping[Place, int], place: Place, sentence: str) -> str:
    """Return a sentence with the file, the line and the name of a place."""
    known = _in_file(lines, place)
    return _with_line(path, lines.get(known, 0), f"{'.'.join(map(str, known))}: {sentence}" if known else sentence)


def _with_line(path: Path, line: int, sentence: str) -> str:
    return f"{path}:{line}: {sentence}" if line else f"{path}: {sentence}"


def _in_file(lines: Mapping[Place, int], place: Place) -> Place:
    """The part of a place that the file has: pydantic adds the alternatives of a union, and keys that are missing."""
    known: Place = ()
    for part in place:
        if (*known, part) in lines:
            known = (*known, part)
    return known


def _words(entry: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    sentence = reason(entry)
    if entry["type"] == "missing":
        return f"{entry['loc'][-1]} is missing"
    if entry["type"] != "extra_forbidden":
        pattern = entry.get("ctx", {}).get("pattern")
        return f"must match {pattern}" if pattern else sentence
    allowed = _keys(schema, entry["loc"][:-1])
    close = get_close_matches(str(entry["loc"][-1]), allowed, 1)
    meant = f"; did you mean {close[0]}?" if close else ""
    return f"{sentence}; allowed are {', '.join(allowed)}{meant}" if allowed else sentence


def _keys(schema: Mapping[str, Any], place: tuple[Any, ...]) -> list[str]:
    """The keys that a model allows at a place of its JSON Schema."""
    at: Any = schema
    for part in (*place, None):
        while isinstance(at, dict) and ("$ref" in at or "anyOf" in at):
            if "$ref" in at:
                at = schema["$defs"][at["$ref"].rpartition("/")[2]]
                continue
            tables = [each for each in at["anyOf"] if "$ref" in each or each.get("type") in ("object", "array")]
            at = tables[0] if tables else {}
        if part is None or not isinstance(at, dict):
            break
        if isinstance(part, int):
            at = at.get("items", {})
        elif part in at.get("properties", {}):
            at = at["properties"][part]
        elif "additionalProperties" in at and isinstance(at["additionalProperties"], dict):
            at = at["additionalProperties"]
    return list(at.get("properties", {})) if isinstance(at, dict) else []


def _secret(path: str) -> str:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise ValueError("is no regular file")
        if mode & 0o077:
            raise ValueError(f"has a secret and is readable for others: chmod 600 {path}")
        text = file.read(LONGEST_SECRET + 2).decode()
    secret = text.partition("\n")[0].removesuffix("\r")
    if not secret.isprintable() or not 0 < len(secret) <= LONGEST_SECRET:
        raise ValueError(f"has no secret: its first line is 1 to {LONGEST_SECRET} printable characters")
    return secret


def _has_secret(document: ServerFile) -> bool:
    return any(getattr(user, key) for user in (document.users or {}).values() for key in HASHES)
