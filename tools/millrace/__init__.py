# SPDX-License-Identifier: Apache-2.0
"""The program on the appliance: inspects the hardware, builds the pool, serves shares, measures and monitors."""

__version__ = "0.1.0"
