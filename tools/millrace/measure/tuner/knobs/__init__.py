# SPDX-License-Identifier: Apache-2.0
"""The settings that a run may try: a whitelist of what is reversible at run time and costs no durability."""
