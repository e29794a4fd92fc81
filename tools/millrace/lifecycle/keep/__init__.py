# SPDX-License-Identifier: Apache-2.0
"""The state of this server, kept on its pool: what a new boot drive needs to serve as the old one did."""
