# SPDX-License-Identifier: Apache-2.0
"""The desired state: shares, users, groups, network and domain, as it is stored, and its earlier states."""
