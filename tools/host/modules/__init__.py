# SPDX-License-Identifier: Apache-2.0
"""Kernel modules that Debian leaves out, built from Debian's own kernel source for exactly Debian's kernel."""
