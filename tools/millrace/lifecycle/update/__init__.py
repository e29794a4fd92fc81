# SPDX-License-Identifier: Apache-2.0
"""Updates: another version is staged, installed, put on trial, and accepted or rolled back."""
