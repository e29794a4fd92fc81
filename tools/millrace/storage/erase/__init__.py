# SPDX-License-Identifier: Apache-2.0
"""Erasure of a drive: whether it is allowed, by which method, and its progress."""
