# SPDX-License-Identifier: Apache-2.0
"""Runs of the tuner for people and for other programs."""
