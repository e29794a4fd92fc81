# SPDX-License-Identifier: Apache-2.0
"""What goes on now: throughput, latency, clients and long work, from the kernel's and smbd's own counters."""
