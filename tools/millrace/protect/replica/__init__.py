# SPDX-License-Identifier: Apache-2.0
"""Replicas of shares of other servers: pulled from their snapshots, kept as snapshots here, promoted to shares."""
