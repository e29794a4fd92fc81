# SPDX-License-Identifier: Apache-2.0
"""The contract of a run, figures from fio's output, and the store of results. Imports no other room of bench."""
