# SPDX-License-Identifier: Apache-2.0
"""Membership in a domain: files, ID ranges, keys, tickets and services. `join/` joins and leaves the domain."""
