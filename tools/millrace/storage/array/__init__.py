# SPDX-License-Identifier: Apache-2.0
"""The arrays of the pool and their members, as md shows them now."""
