# SPDX-License-Identifier: Apache-2.0
"""The program on the appliance: inventory, plan, provision, tune, share, health."""

__version__ = "0.1.0"
