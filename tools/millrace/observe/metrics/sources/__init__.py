# SPDX-License-Identifier: Apache-2.0
"""One module for each source of metrics; each returns its families and may fail or hang without the others."""
