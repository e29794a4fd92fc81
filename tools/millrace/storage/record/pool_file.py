# SPDX-License-Identifier: Apache-2.0
"""pool.json, the pool that exists, and its older copies: the one place that reads and writes them."""

import sys
from pathlib import Path

from millrace.plan.model import MdArray, Plan, Role
from millrace.storage.record.model import Pool
from millrace.system import paths
from millrace.system.documents import read_model, write_model
from millrace.system.errors import BadInput, Refused

KEPT = 20
"""How many generations stay in the history."""


def load_pool() -> Pool:
    """Return the pool of this server. Refused: it has none. BadInput: no copy of pool.json can be read."""
    pool = known_pool()
    if pool is None:
        raise Refused("this server has no pool yet; read its plan with `millrace plan`")
    return pool


def known_pool() -> Pool | None:
    """Return the pool of this server; None if it has none. BadInput: neither pool.json nor an older copy can be read.

    A torn file is replaced by the newest copy, with a warning on standard error. A missing one is not: the first copy
    is written while the pool is still being created.
    """
    if not paths.pool_file().exists():
        return None
    try:
        return read_model(paths.pool_file(), Pool)
    except BadInput as error:
        copy = _newest_copy()
        if copy is None:
            raise
        print(f"millrace: warning: {error}; generation {copy.generation} of the history is used", file=sys.stderr)
        return copy


def save_pool(pool: Pool) -> None:
    """Write the pool; the copy in the history comes first, so that one of the two can always be read."""
    write_model(_history() / f"pool-{pool.generation:06}.json", pool)
    write_model(paths.pool_file(), pool)
    for old in sorted(_history().glob("pool-*.json"))[:-KEPT]:
        old.unlink(missing_ok=True)


def _newest_copy() -> Pool | None:
    copies = []
    # the first copy of pools made by 0.1.0 lies beside their plan
    for path in [*_history().glob("pool-*.json"), *_history().glob("*/pool.json")]:
        try:
            copies.append(read_model(path, Pool))
        except BadInput:
            continue
    # a pool that was made on this server before this one may have seen more changes
    return max(copies, key=lambda pool: (pool.created, pool.generation), default=None)


def _history() -> Path:
    return paths.state_dir() / "history"


def approved_plan() -> Plan | None:
    """Return the plan that the pool was made from; None where it is missing or damaged: it is history."""
    try:
        return read_model(paths.approved_plan_file(), Plan)
    except BadInput:
        return None


def current_arrays(pool: Pool) -> list[MdArray]:
    """Return the arrays with their members and spares of now."""
    return [
        record.array
        if record.array.over_arrays
        else record.array.model_copy(
            update={
                "members": [member.serial for member in record.members],
                "spares": [spare.serial for spare in record.spares],
            }
        )
        for record in pool.arrays
    ]


def roles(pool: Pool) -> dict[str, Role]:
    """Return what each drive of the pool is for, by serial; one of data may have a part of the log."""
    if pool.backend == "external":
        return {drive.serial: part.role for drive in pool.drives for part in drive.partitions}
    arrays = [one for one in pool.arrays if not one.array.over_arrays]
    found = {one.serial: Role.SPARE for record in arrays for one in record.spares}
    for record in sorted(arrays, key=lambda one: one.array.role is Role.DATA):
        found |= {one.serial: record.array.role for one in record.members}
    return found
