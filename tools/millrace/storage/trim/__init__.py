# SPDX-License-Identifier: Apache-2.0
"""Trims of the file system: schedule, obstacles and progress."""
