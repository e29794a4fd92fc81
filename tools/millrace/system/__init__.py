# SPDX-License-Identifier: Apache-2.0
"""The floor under every room: one way to run a tool, write a file, take a lock, format a size. Imports no room."""
