# SPDX-License-Identifier: Apache-2.0
"""The policy: the decisions of the server's owner, the file that holds them, and the policy in force."""
