# SPDX-License-Identifier: Apache-2.0
"""One file for each check, with `check(host) -> list[HealthFinding]`; empty if there is nothing to check yet."""
