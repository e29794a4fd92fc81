# SPDX-License-Identifier: Apache-2.0
"""Membership in an Active Directory domain: its users over SMB, its tickets over NFS, one number for both."""
