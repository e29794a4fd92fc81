# SPDX-License-Identifier: Apache-2.0
"""How fast the server is: benchmarks from the drives to the clients, compared with what the hardware can do."""
