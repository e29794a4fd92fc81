# SPDX-License-Identifier: Apache-2.0
"""Which combination to measure next, and what was found: deterministic, without a clock and without any I/O."""
