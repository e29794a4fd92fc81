# SPDX-License-Identifier: Apache-2.0
"""Assembly of the arrays at every boot and when lost drives are back, and the choice of the members to start with."""
