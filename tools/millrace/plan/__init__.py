# SPDX-License-Identifier: Apache-2.0
"""What to build, and why: pure functions from an inventory and a policy to a plan or a refusal. `current` and the
files of the policy read and write.
"""
