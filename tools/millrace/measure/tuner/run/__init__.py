# SPDX-License-Identifier: Apache-2.0
"""A run of the tuner on this server: its unit, its journal, what it measures, and how all of it is put back."""
