# SPDX-License-Identifier: Apache-2.0
"""Clients that measure this server, controlled from here or by hand."""
