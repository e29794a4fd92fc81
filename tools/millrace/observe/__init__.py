# SPDX-License-Identifier: Apache-2.0
"""The state of this server: health, alerts, metrics, live figures, drives, jobs, pool, topology, support archive."""
