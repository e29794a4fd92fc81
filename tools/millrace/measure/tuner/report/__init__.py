# SPDX-License-Identifier: Apache-2.0
"""Runs of the tuner as text, as an HTML page, and as files for other programs."""
