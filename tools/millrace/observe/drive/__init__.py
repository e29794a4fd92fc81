# SPDX-License-Identifier: Apache-2.0
"""The list of all drives, with the actions that each of them allows now."""
