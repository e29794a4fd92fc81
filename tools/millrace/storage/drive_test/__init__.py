# SPDX-License-Identifier: Apache-2.0
"""Tests of blank drives: the whole drive, or a sample of it, is written and read back."""
