# SPDX-License-Identifier: Apache-2.0
"""Long-running jobs: which run or wait, their progress, and how the last ones ended; follow and cancel them."""
