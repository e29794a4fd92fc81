# SPDX-License-Identifier: Apache-2.0
"""Names of the steps of a rescue, in their order; nothing is imported here, as every verb of the pool needs them."""

from typing import Literal, get_args

StepName = Literal["stop", "image", "judge", "log", "repair", "serve"]
STEPS: tuple[StepName, ...] = get_args(StepName)
