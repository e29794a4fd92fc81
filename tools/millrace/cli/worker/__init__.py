# SPDX-License-Identifier: Apache-2.0
"""Verbs as requests: one process for a page of the web console instead of one for each request."""
