# SPDX-License-Identifier: Apache-2.0
"""Factory reset: the boot drive as on its first day, with the pool kept, with or without its people."""
