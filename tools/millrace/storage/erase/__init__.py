# SPDX-License-Identifier: Apache-2.0
"""Erasing a drive: whether it may be erased, how, and how far that is."""
