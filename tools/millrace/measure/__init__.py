# SPDX-License-Identifier: Apache-2.0
"""Performance of this server and its clients: the benchmark, the tuner, mount recipes."""
