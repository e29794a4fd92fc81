# SPDX-License-Identifier: Apache-2.0
"""Alerts to administrators: sent when a problem begins, gets worse or ends, with the remedy."""
