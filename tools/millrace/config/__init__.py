# SPDX-License-Identifier: Apache-2.0
"""The desired state: shares, users and groups, with its history and rollback."""
