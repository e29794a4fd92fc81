# SPDX-License-Identifier: Apache-2.0
"""The image's kernel over drives made of memory."""
