# SPDX-License-Identifier: Apache-2.0
"""Long-running jobs: order, unit, progress, cancellation, record, and which kinds may run at the same time."""
