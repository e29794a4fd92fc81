# SPDX-License-Identifier: Apache-2.0
"""A line of the report of a check."""

from __future__ import annotations

from typing import NamedTuple

OK, WARN, FAIL, UNSEEN = "OK", "WARN", "FAIL", "UNSEEN"
"""UNSEEN: this client does not show it, so nothing is known."""


class Finding(NamedTuple):
    """One line of the report; `fix` is empty where all is well."""

    check: str
    status: str
    text: str
    fix: str = ""
