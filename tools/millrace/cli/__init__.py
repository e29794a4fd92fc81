# SPDX-License-Identifier: Apache-2.0
"""The command line: the table of the verbs, the process that runs them for programs and pages, their schemas."""
