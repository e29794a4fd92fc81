# SPDX-License-Identifier: Apache-2.0
"""The certificate that the web console and NFS over TLS show: made at first boot, or a person's own."""
