# SPDX-License-Identifier: Apache-2.0
"""The state of this server, kept on its pool so that a new boot drive can serve as the old one did."""
