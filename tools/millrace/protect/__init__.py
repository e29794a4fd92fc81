# SPDX-License-Identifier: Apache-2.0
"""Earlier states and copies of the data: snapshots, rollbacks, replicas of other servers, backups off site."""
