# SPDX-License-Identifier: Apache-2.0
"""What a run measures and how much: workloads, sizes, steps, an estimate. Moves no data."""
