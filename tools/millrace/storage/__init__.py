# SPDX-License-Identifier: Apache-2.0
"""Drives, arrays and the file system of the pool. Except for boot drives, only this wing writes to block devices."""
