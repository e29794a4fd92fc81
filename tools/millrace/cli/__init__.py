# SPDX-License-Identifier: Apache-2.0
"""The command line: the table of verbs, the schemas of their output, and the processes that run verbs as requests."""
