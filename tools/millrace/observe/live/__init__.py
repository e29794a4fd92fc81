# SPDX-License-Identifier: Apache-2.0
"""Live throughput, latency, clients and jobs, from the kernel's and smbd's own counters."""
