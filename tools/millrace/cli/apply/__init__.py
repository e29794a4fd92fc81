# SPDX-License-Identifier: Apache-2.0
"""The desired state in a file that an administrator writes: read with line numbers, compared, applied, exported."""
