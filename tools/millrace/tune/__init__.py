# SPDX-License-Identifier: Apache-2.0
"""Settings that the kernel forgets: set at every boot and on hot-plug, and only where they differ."""
