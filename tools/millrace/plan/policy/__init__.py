# SPDX-License-Identifier: Apache-2.0
"""The policy: what the owner of the server decides, where it is read from, and which one is in force."""
