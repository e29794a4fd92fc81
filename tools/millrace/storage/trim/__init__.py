# SPDX-License-Identifier: Apache-2.0
"""Trims of the file system: when, what keeps one from running, how far it is."""
