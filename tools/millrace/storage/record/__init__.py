# SPDX-License-Identifier: Apache-2.0
"""What is kept of the pool and its drives, and the journals of what is written to them."""
