# SPDX-License-Identifier: Apache-2.0
"""Desired state of the shares, rendered to the files that nfsd and smbd read."""
