# SPDX-License-Identifier: Apache-2.0
"""The server's half of a submission to MLPerf Storage: its description, and commands with their sizes."""
