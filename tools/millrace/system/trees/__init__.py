# SPDX-License-Identifier: Apache-2.0
"""Trees of files that clients write: root walks them by descriptors, never through a link."""
