# SPDX-License-Identifier: Apache-2.0
"""Documents that were recorded, beside those of today, which may have gained fields."""

from typing import Any


def within(one: Any, whole: Any) -> bool:
    """Whether `whole` says all that `one` says; a field that was added since may be missing in `one`."""
    if isinstance(one, dict) and isinstance(whole, dict):
        return all(key in whole and within(value, whole[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(whole, list):
        return len(one) == len(whole) and all(map(within, one, whole))
    return bool(one == whole)
