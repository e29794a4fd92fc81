# SPDX-License-Identifier: Apache-2.0
"""The state of this server, kept on its pool for a new boot drive, and the records of NFS clients."""
