# SPDX-License-Identifier: Apache-2.0
"""One file for each check, with `check(host) -> list[Finding]`; an empty list where there is nothing to check yet."""
