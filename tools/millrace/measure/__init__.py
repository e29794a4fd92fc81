# SPDX-License-Identifier: Apache-2.0
"""What this server can do, and how clients get it: the benchmark, the tuner, mount recipes."""
