# SPDX-License-Identifier: Apache-2.0
"""Membership in a domain: files, numbers, keys, tickets and daemons. `join/` joins and leaves."""
