# SPDX-License-Identifier: Apache-2.0
"""A server from its installation to its reset: versions, boot drives, keys and people, the kept state."""
