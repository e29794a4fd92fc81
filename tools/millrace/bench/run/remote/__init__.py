# SPDX-License-Identifier: Apache-2.0
"""The ladder's last rung: clients that measure this server, driven from here or by hand."""
