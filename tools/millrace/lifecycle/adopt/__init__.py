# SPDX-License-Identifier: Apache-2.0
"""Adoption of a pool that another boot drive created: found read-only, taken over with its shares, users and keys."""
