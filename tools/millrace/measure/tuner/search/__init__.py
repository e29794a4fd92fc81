# SPDX-License-Identifier: Apache-2.0
"""The search for the best combination of settings. Deterministic: it reads no clock and does no I/O."""
