# SPDX-License-Identifier: Apache-2.0
"""Another version of the system: staged, installed, tried, and accepted or rolled back."""
