# SPDX-License-Identifier: Apache-2.0
"""Files that are rendered, and their record."""
