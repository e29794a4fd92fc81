# SPDX-License-Identifier: Apache-2.0
"""The support archive: logs and documents of this server, without secrets and without names of its owner."""
