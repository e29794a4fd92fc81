# SPDX-License-Identifier: Apache-2.0
"""The contributor's instrument: ratios of settings, measured on an emulated machine whose clock counts instructions."""
