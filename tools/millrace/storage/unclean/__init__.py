# SPDX-License-Identifier: Apache-2.0
"""Unclean starts of degraded arrays: torn rows, and the files that may be damaged."""
