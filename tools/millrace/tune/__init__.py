# SPDX-License-Identifier: Apache-2.0
"""Runtime settings: set at every boot and on hot-plug, and only where they differ."""
