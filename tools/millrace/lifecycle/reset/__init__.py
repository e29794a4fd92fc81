# SPDX-License-Identifier: Apache-2.0
"""Factory reset: the boot drive returns to its first day; the pool is kept, with or without its users."""
