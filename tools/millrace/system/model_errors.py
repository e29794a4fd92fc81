# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a document, in words of Millrace: pydantic's sentences are for programmers."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

_WORDS = {
    "bool_parsing": "must be true or false",
    "bool_type": "must be true or false",
    "dict_type": "must be a table of keys",
    "enum": "must be {expected}",
    "extra_forbidden": "unknown key",
    "finite_number": "must be a finite number",
    "float_parsing": "must be a number",
    "float_type": "must be a number",
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "int_from_float": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_parsing_size": "must be a smaller number",
    "int_type": "must be a whole number",
    "json_invalid": "is not valid JSON: {error}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "list_type": "must be a list",
    "literal_error": "must be {expected}",
    "missing": "is missing",
    "model_attributes_type": "must be a table of keys",
    "model_type": "must be a table of keys",
    "string_too_long": "must have at most {max_length} characters",
    "string_too_short": "must have at least {min_length} characters",
    "string_type": "must be text",
    "too_long": "must have at most {max_length} entries",
    "too_short": "must have at least {min_length} entries",
    "union_tag_invalid": "must be {expected_tags}",
}


def reason(first: Mapping[str, Any]) -> str:
    """Return what is wrong with a value, without its key; `first` is an entry of `ValidationError.errors()`."""
    context = first.get("ctx", {})
    if isinstance(cause := context.get("error"), ValueError):
        return str(cause)
    return _WORDS.get(str(first["type"]), "has a form that is not allowed").format_map(context)


def problem(error: ValidationError) -> str:
    """Return `key: what is wrong`; in a document of another release that of the schema, wherever pydantic lists it."""
    first = min(error.errors(), key=lambda each: each["loc"] != ("schema_version",))
    key = ".".join(str(part) for part in first["loc"]) or "the document"
    return f"{key}: {reason(first)}"


def sentence(error: ValidationError) -> str:
    """Return the first error, with the key where the error does not name it."""
    first = min(error.errors(), key=lambda each: each["loc"] != ("schema_version",))
    return reason(first) if isinstance(first.get("ctx", {}).get("error"), ValueError) else problem(error)
