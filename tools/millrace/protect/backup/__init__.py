# SPDX-License-Identifier: Apache-2.0
"""Backups off site: snapshots of shares that restic sends to S3, SFTP or a REST server, checked and tried by drill."""
