# SPDX-License-Identifier: Apache-2.0
"""What a member of a domain has: its files, numbers, keys, tickets and daemons. `domain/` joins and leaves."""
