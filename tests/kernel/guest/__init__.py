# SPDX-License-Identifier: Apache-2.0
"""What runs in the guest: the standard library only."""
