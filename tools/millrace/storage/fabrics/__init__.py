# SPDX-License-Identifier: Apache-2.0
"""Connections to NVMe-oF subsystems whose namespaces are external devices of the pool, now and at each boot."""
