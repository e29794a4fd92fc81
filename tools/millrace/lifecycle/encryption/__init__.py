# SPDX-License-Identifier: Apache-2.0
"""The encrypted root file system: what opens it, its recovery key, and how it is bound to the TPM again."""
