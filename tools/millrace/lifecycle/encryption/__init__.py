# SPDX-License-Identifier: Apache-2.0
"""The encrypted root file system: the keys that open it, its recovery key, and enrolling the TPM again."""
