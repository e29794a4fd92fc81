# SPDX-License-Identifier: Apache-2.0
"""Snapshots of shares: trees of reflinks that no client reaches, each with a manifest that says how exact it is."""
