# SPDX-License-Identifier: Apache-2.0
"""The base of all wings: runs tools, writes files, takes locks, formats sizes. Imports no other wing."""
