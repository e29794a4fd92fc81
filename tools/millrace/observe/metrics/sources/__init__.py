# SPDX-License-Identifier: Apache-2.0
"""One module for each source of metrics; a source that fails or hangs does not affect the others."""
