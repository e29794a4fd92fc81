# SPDX-License-Identifier: Apache-2.0
"""Decisions of administrators, and the files and services that carry them out."""
