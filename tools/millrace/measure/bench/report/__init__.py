# SPDX-License-Identifier: Apache-2.0
"""Results as text, as an HTML page, as files, and as a comparison of two runs."""
