# SPDX-License-Identifier: Apache-2.0
"""A pool that another boot drive created: found without a write, and taken over with its shares, users and keys."""
