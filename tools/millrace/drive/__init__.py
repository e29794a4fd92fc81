# SPDX-License-Identifier: Apache-2.0
"""The drives of this server: what each of them is, how it is, what it said of itself and what is kept of it."""
