# SPDX-License-Identifier: Apache-2.0
"""Inputs of several parts, in a form that a fuzzer finds by itself and that is readable in the corpus."""

SEPARATOR = b"\n%%\n"


def split(data: bytes) -> list[bytes]:
    """Return the parts of an input."""
    return data.split(SEPARATOR)
