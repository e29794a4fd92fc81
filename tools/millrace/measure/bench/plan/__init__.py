# SPDX-License-Identifier: Apache-2.0
"""The plan of a run: workloads, sizes, steps, an estimate, and the program for clients. Moves no data."""
