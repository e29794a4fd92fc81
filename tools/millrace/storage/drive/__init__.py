# SPDX-License-Identifier: Apache-2.0
"""The drives of this server: identity, state, what each of them reports, and what is recorded of it."""
