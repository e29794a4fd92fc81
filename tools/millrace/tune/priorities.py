# SPDX-License-Identifier: Apache-2.0
"""Who goes first while an array is rebuilt: a module without imports, as every verb of the pool has these names."""

from typing import Literal

Priority = Literal["clients", "balanced", "rebuild"]
PRIORITIES: tuple[Priority, ...] = ("clients", "balanced", "rebuild")
