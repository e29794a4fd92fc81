# SPDX-License-Identifier: Apache-2.0
"""Earlier states of the data: snapshots of shares, by hand and by schedule, and rollbacks to them."""
