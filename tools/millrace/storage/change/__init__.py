# SPDX-License-Identifier: Apache-2.0
"""Changes of the drives of the pool: a drive takes the place of another, a spare comes, a member goes."""
