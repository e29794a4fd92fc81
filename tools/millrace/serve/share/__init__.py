# SPDX-License-Identifier: Apache-2.0
"""Shares over NFS and SMB: directories, quotas, the files that nfsd and smbd read, verification, clients."""
