# SPDX-License-Identifier: Apache-2.0
"""Forwarding of the journal to another host: sign-ins and changes remain known if this server is lost."""
