# SPDX-License-Identifier: Apache-2.0
"""Make the arrays exist: the only room that writes to block devices."""
