# SPDX-License-Identifier: Apache-2.0
"""The settings that a run may try: a whitelist of those that are reversible at run time and cost no durability."""
