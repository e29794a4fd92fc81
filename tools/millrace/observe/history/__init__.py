# SPDX-License-Identifier: Apache-2.0
"""The history of this server: a minute for a day, an hour for a year, bounded, with a forecast of the capacity."""
