# SPDX-License-Identifier: Apache-2.0
"""The wanted state: shares, users and groups, with its history and the way back."""
