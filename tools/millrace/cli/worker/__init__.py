# SPDX-License-Identifier: Apache-2.0
"""Verbs as requests: one process for each page of the web console, and one for a verb that runs again and again."""
