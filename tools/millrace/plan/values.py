# SPDX-License-Identifier: Apache-2.0
"""Values of decisions as text, with readable sizes."""

import json

from pydantic import JsonValue

from millrace.plan.model import Decision
from millrace.system.text import KIB, binary, size

# Shown as drives are sold; other sizes are powers of two.
CAPACITIES = {"partition.data"}
SIZES = {
    "partition",
    "log",
    "full_stripe",
    "chunk",
    "raid0_chunk",
    "bitmap",
    "filesystem.stripe",
    "geometry",
    "filesystem.log_size",
    "filesystem.allocation_group_size",
    "nfsd.max_block_size",
    "smbd.aio_min_bytes",
    "sysctl.dirty_bytes",
}


def value_in_words(decision: Decision) -> str:
    """Return the value with readable sizes."""
    return in_words(decision.name, decision.value)


def in_words(name: str, value: JsonValue) -> str:
    """Return a value of the decision `name` with readable sizes."""
    if isinstance(value, dict):
        return ", ".join(f"{key.removeprefix('vm.')} {_part(name, key, part)}" for key, part in value.items())
    return shown(name, value)


def _part(name: str, key: str, value: JsonValue) -> str:
    return size(value) if f"{name}.{key}" in CAPACITIES and isinstance(value, int) else shown(name, value)


def shown(name: str, value: JsonValue) -> str:
    """Return one value of the decision or number `name` as text."""
    if isinstance(value, list):
        return ", ".join(shown(name, part) for part in value) or "-"
    if name in SIZES and not isinstance(value, bool) and str(value).isdecimal() and int(str(value)) >= KIB:
        # Large numbers among these are bytes; the small ones count something.
        return binary(int(str(value)))
    return "-" if value is None else value if isinstance(value, str) else json.dumps(value)
