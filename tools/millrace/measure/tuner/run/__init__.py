# SPDX-License-Identifier: Apache-2.0
"""A run of the tuner on this server: its unit, its journal, its readings, and how all settings are restored."""
