# SPDX-License-Identifier: Apache-2.0
"""Tests of blank drives: everything is written and read back."""
