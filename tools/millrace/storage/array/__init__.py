# SPDX-License-Identifier: Apache-2.0
"""Arrays and their members as md and the drives show them now: superblocks, partition tables, regions, parity."""
