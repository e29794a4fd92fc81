# SPDX-License-Identifier: Apache-2.0
"""Protection: for each share its copies on this server, on a second server and off site, and whether they are in time."""
