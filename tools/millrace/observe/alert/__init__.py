# SPDX-License-Identifier: Apache-2.0
"""Alerts outside the server: once when a problem begins, once when it ends, with the remedy."""
