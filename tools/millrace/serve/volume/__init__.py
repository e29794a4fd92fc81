# SPDX-License-Identifier: Apache-2.0
"""Volumes over NVMe/TCP and NVMe/RDMA: their files on the pool, and what nvmet serves of them."""
