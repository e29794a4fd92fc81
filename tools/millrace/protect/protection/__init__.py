# SPDX-License-Identifier: Apache-2.0
"""Protection: the copies of each share, here, on a second server and off site, and whether they are in time."""
