# SPDX-License-Identifier: Apache-2.0
"""The tokens of registered clients: apart from what is listed, readable by root alone."""

from pathlib import Path
from typing import Literal

from pydantic import Field

from millrace.measure.bench.result import store as results
from millrace.system.documents import Contract, read_model, write_model
from millrace.system.errors import BadInput
from millrace_client import sealed


class Tokens(Contract):
    """`/var/lib/millrace/bench/tokens.json`: by the name of the client."""

    schema_version: Literal[1] = 1
    tokens: dict[str, str] = Field(default_factory=dict)


def file() -> Path:
    """The file of the tokens; mode 0600."""
    return results.home() / "tokens.json"


def checked(typed: str) -> str:
    """Return a token in its stored form. BadInput: it is no token."""
    try:
        return sealed.plain_token(typed)
    except ValueError as error:
        raise BadInput(str(error)) from error


def of(name: str) -> str | None:
    """Return the token of a client; None where there is none. BadInput: the file cannot be read."""
    return _load().tokens.get(name)


def keep(name: str, token: str) -> None:
    """Store a token in place of the one before."""
    _write({**_load().tokens, name: token})


def drop(name: str) -> None:
    """Delete the token of a client."""
    _write({one: token for one, token in _load().tokens.items() if one != name})


def _load() -> Tokens:
    return read_model(file(), Tokens) if file().exists() else Tokens()


def _write(tokens: dict[str, str]) -> None:
    write_model(file(), Tokens(tokens=tokens), mode=0o600)
