# SPDX-License-Identifier: Apache-2.0
"""Suites of others that run against a booted server: their results, and the table of what does not succeed, and why."""
