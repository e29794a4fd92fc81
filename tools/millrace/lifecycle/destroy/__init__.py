# SPDX-License-Identifier: Apache-2.0
"""Destruction of the pool: what it ends is shown and confirmed, then its drives are free for another pool."""
