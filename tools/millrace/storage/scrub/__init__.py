# SPDX-License-Identifier: Apache-2.0
"""Checks of all arrays and of the XFS metadata: schedule, speed, results, affected files, and repair."""
