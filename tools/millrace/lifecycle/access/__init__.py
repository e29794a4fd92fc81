# SPDX-License-Identifier: Apache-2.0
"""People who manage this server: the first administrator, roles, keys, second factors, sessions, the log of changes."""
