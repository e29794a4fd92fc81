# SPDX-License-Identifier: Apache-2.0
"""The pool as the hardware audit sees it: its drives of now, and the settings that it runs with."""

from millrace.plan.audit import Audited
from millrace.storage.record.model import Pool
from millrace.storage.record.pool_file import current_arrays, roles
from millrace.tune.settings import in_force


def audited_pool(pool: Pool) -> Audited:
    """Return what the audit needs of a pool; the plan that it was made from is no part of it."""
    settings = in_force(pool)
    return Audited(roles(pool), current_arrays(pool), settings.nfsd, settings.md)
