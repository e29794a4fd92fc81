# SPDX-License-Identifier: Apache-2.0
"""The plan that the pool was made from: shares and tuning follow it, not the proposal of this boot."""

from millrace import paths, store
from millrace.plan.model import Plan


def approved_plan() -> Plan:
    """The approved plan; BadInput where there is none."""
    return store.read_model(paths.approved_plan_file(), Plan)
