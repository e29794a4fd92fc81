# SPDX-License-Identifier: Apache-2.0
"""The whole desired state: its history, rollback, export and import, and what the next rendering would change."""
