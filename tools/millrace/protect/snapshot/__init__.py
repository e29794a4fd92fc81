# SPDX-License-Identifier: Apache-2.0
"""Snapshots of shares: trees of reflinks that no client changes, each with a manifest that says how exact it is."""
