# SPDX-License-Identifier: Apache-2.0
"""The topology of this server: NUMA nodes with their drives, ports and NFS threads, and the findings on each part."""
