# SPDX-License-Identifier: Apache-2.0
"""Plans and their reasons: pure functions of inventory and policy. `current`, `measured` and `policy/` do I/O."""
