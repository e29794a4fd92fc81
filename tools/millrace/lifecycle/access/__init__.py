# SPDX-License-Identifier: Apache-2.0
"""People who manage this server: roles, SSH keys, second factors, sessions, and the log of their changes."""
