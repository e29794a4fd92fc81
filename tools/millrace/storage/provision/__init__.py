# SPDX-License-Identifier: Apache-2.0
"""Creation of the arrays and the file system of an approved plan, resumed after a kill or a power cut."""
