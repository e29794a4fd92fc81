# SPDX-License-Identifier: Apache-2.0
"""Drives, arrays and the file system of the pool; but for the boot drive, block devices are written here alone."""
