# SPDX-License-Identifier: Apache-2.0
"""Running: one session, its steps on their targets, the monitor, and the cleanup."""
