# SPDX-License-Identifier: Apache-2.0
"""What is wrong with an input, as the one sentence for the person who typed it."""

from collections.abc import Callable
from typing import TypeVar

from pydantic import ValidationError

from millrace.errors import BadInput

Result = TypeVar("Result")


def sentence(error: ValidationError) -> str:
    """The first complaint; with the key where the complaint does not speak for itself."""
    first = error.errors()[0]
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, ValueError):
        return str(cause)
    key = ".".join(str(part) for part in first["loc"]) or "the document"
    if first["type"] == "extra_forbidden":
        return f"{key}: this key is not known"
    return f"{key}: {first['msg']}"


def checked(make: Callable[[], Result]) -> Result:
    """What `make` returns; BadInput with one sentence where a model refuses it."""
    try:
        return make()
    except ValidationError as error:
        raise BadInput(sentence(error)) from error
