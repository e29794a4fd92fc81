# SPDX-License-Identifier: Apache-2.0
"""Permissions of what is in a share: set by its rule, as a job."""
