# SPDX-License-Identifier: Apache-2.0
"""Local users and groups: one number and one password on NFS and SMB; second factors of administrators."""
