# SPDX-License-Identifier: Apache-2.0
"""Changes of the drives of the pool: replacing or removing a drive, adding a hot spare, using larger drives."""
