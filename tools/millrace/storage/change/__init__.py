# SPDX-License-Identifier: Apache-2.0
"""Changes of the drives of the pool: replacing a drive, adding a hot spare, removing a drive."""
