# SPDX-License-Identifier: Apache-2.0
"""Names of the priorities of a rebuild; nothing is imported here, as every verb of the pool needs them."""

from typing import Literal

Priority = Literal["clients", "balanced", "rebuild"]
PRIORITIES: tuple[Priority, ...] = ("clients", "balanced", "rebuild")
