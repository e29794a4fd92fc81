# SPDX-License-Identifier: Apache-2.0
"""Make the arrays and the file system of an approved plan, whatever happens in between."""
