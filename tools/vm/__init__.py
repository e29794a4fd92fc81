# SPDX-License-Identifier: Apache-2.0
"""The virtual server that `tools/run` and the tests share."""
