# SPDX-License-Identifier: Apache-2.0
"""A run under way: its session, its steps on their targets, the monitor, and the cleanup."""
