# SPDX-License-Identifier: Apache-2.0
"""One file per check, each with `check(host) -> list[Finding]`; an empty list where there is nothing to look at yet."""
