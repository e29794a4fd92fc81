# SPDX-License-Identifier: Apache-2.0
"""The certificate of the web console and of NFS over TLS: created at first boot, or installed by an administrator."""
