# SPDX-License-Identifier: Apache-2.0
"""Records of the pool and its drives, and the journals of writes to them."""
