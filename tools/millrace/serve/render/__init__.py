# SPDX-License-Identifier: Apache-2.0
"""Rendered files: registered by rooms, written where they differ, and recorded so that manual edits are detected."""
