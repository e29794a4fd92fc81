# SPDX-License-Identifier: Apache-2.0
"""The server as a picture: NUMA nodes with their drives, ports and NFS threads, and where the findings belong."""
