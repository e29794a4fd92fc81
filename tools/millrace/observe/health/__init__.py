# SPDX-License-Identifier: Apache-2.0
"""Health: OK, WARN, FAIL or UNKNOWN, with a sentence and a remedy; never a guess."""
