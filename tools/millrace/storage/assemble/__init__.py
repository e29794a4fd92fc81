# SPDX-License-Identifier: Apache-2.0
"""Start the arrays in every boot, and again when lost drives are back; decide which members are used."""
