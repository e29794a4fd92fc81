# SPDX-License-Identifier: Apache-2.0
"""Benchmarks from the drives to the clients, compared with the performance that the plan predicts."""
