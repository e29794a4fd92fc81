# SPDX-License-Identifier: Apache-2.0
"""After an array was started unclean while degraded: torn rows, and the files that may be damaged."""
