# SPDX-License-Identifier: Apache-2.0
"""What people decide, and the files and services that carry it out."""
