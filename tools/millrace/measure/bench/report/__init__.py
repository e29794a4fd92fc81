# SPDX-License-Identifier: Apache-2.0
"""Results for readers: text, one page, files, comparisons."""
