# SPDX-License-Identifier: Apache-2.0
"""The drives of this server: identity, state, SMART, LEDs, and the history of errors and wear."""
