# SPDX-License-Identifier: Apache-2.0
"""Is it all right? OK, WARN, FAIL or UNKNOWN, with a sentence and what to do; never a guess."""
