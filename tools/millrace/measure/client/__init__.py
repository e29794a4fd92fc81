# SPDX-License-Identifier: Apache-2.0
"""Settings of fast clients: mount recipes for each profile, and the check of a running mount."""
