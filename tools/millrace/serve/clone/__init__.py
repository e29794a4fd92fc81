# SPDX-License-Identifier: Apache-2.0
"""Clones of shares by reflink, and copies of another server's exports."""
