# SPDX-License-Identifier: Apache-2.0
"""The way back for a pool whose external log is lost: every step shown, explained and confirmed."""
