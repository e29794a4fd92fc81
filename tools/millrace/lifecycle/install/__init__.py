# SPDX-License-Identifier: Apache-2.0
"""This version on another drive: from a USB drive or virtual media to the boot drive, or a spare boot drive."""
