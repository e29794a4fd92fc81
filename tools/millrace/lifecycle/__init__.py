# SPDX-License-Identifier: Apache-2.0
"""A server from installation to factory reset: versions, encryption, access, the kept state, adoption, destruction."""
