# SPDX-License-Identifier: Apache-2.0
"""The desired state: shares, users, groups and ports, with its history."""
