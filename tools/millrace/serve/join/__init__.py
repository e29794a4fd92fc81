# SPDX-License-Identifier: Apache-2.0
"""Joining and leaving an Active Directory domain, whose users have the same UID over SMB and NFS."""
