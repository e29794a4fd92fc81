# SPDX-License-Identifier: Apache-2.0
"""The second copy of the data: snapshots of shares."""
