# SPDX-License-Identifier: Apache-2.0
"""What a member of a domain has: its files, numbers, keys, tickets and daemons. `join/` joins and leaves."""
