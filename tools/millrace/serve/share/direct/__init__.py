# SPDX-License-Identifier: Apache-2.0
"""Shares over SMB Direct: the kernel's SMB server (ksmbd) on RDMA, beside Samba on TCP."""
