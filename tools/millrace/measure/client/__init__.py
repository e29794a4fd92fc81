# SPDX-License-Identifier: Apache-2.0
"""What makes a client fast: mount recipes for each profile, and the check of a running mount."""
