# SPDX-License-Identifier: Apache-2.0
"""The first administrator: made once, with a password that only the console shows."""
