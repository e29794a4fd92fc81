# SPDX-License-Identifier: Apache-2.0
"""The steps of a rescue in their order: a module without imports, as every verb of the pool has these names."""

from typing import Literal, get_args

StepName = Literal["stop", "image", "judge", "log", "repair", "serve"]
STEPS: tuple[StepName, ...] = get_args(StepName)
