# SPDX-License-Identifier: Apache-2.0
"""The network of this server: addresses, bonds, VLANs, MTU, name and time servers; the trial of a change."""
