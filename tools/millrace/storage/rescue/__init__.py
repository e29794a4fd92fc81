# SPDX-License-Identifier: Apache-2.0
"""Rescue of a pool whose external log is lost, and restart of a pool whose drives were gone for a moment."""
