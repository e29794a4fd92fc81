# SPDX-License-Identifier: Apache-2.0
"""Checks of all arrays: when, how fast, what they found, which files that is, and its repair."""
