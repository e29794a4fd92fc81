# SPDX-License-Identifier: Apache-2.0
"""An archive for support: what the server knows of itself, without secrets and without names of its owner."""
