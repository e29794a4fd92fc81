# SPDX-License-Identifier: Apache-2.0
"""Backups of shares off site: snapshots that restic writes to S3, SFTP or a REST server, checked and restored by drill."""
