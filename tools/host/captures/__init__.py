# SPDX-License-Identifier: Apache-2.0
"""Captures of other servers, read on a build host: the inventory is made in the same way as on the server itself."""
