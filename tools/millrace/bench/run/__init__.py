# SPDX-License-Identifier: Apache-2.0
"""Running: one session, its steps on their targets, what watches them, and the clean-up."""
