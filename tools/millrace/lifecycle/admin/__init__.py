# SPDX-License-Identifier: Apache-2.0
"""The first administrator: created once, with a one-time password that is shown on the console only."""
