# SPDX-License-Identifier: Apache-2.0
"""A package: pytest switches its virtual servers off at its end, and not at the end of all tests."""
