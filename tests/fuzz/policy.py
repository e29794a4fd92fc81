# SPDX-License-Identifier: Apache-2.0
"""A policy in TOML, which a credential or a kept state brings, and changes of it."""

from millrace.plan.policy.policy_file import parse_policy


def check(data: bytes) -> None:
    """Parse the input."""
    parse_policy(data.decode(errors="replace"), "policy.toml")
