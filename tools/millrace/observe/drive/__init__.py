# SPDX-License-Identifier: Apache-2.0
"""The list of all drives: what each of them is, and what it allows now."""
