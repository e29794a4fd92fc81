# SPDX-License-Identifier: Apache-2.0
"""Plans and their reasons: pure functions from an inventory and a policy to a plan or a refusal. `current` and the
files of the policy read and write.
"""
