# SPDX-License-Identifier: Apache-2.0
"""Inspect everything and report it: health, alerts, metrics, live figures, the pool, an archive for support."""
