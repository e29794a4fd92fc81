# SPDX-License-Identifier: Apache-2.0
"""The contract of `millrace client mlperf --json`. Sizes in bytes."""

from typing import Literal

from millrace.measure.client.model import ClientFile, Note
from millrace.system.documents import Contract


class Forecast(Contract):
    """How many accelerators this server is expected to feed. It is no result.

    `source` says where it is from; `count` None: neither a measurement nor the plan has a figure. `bandwidth` in
    bytes/s.
    """

    accelerator: str
    count: int | None
    bandwidth: float | None
    source: Literal["measured", "predicted", "unknown"]
    text: str


class Sheet(Contract):
    """Commands for one model, with the sizes that the rules ask for.

    `files` and `size` are of the data set, or of all checkpoints; `processes` of the checkpoint, else of one run.
    `fits`: whether the pool has that much free now.
    """

    kind: Literal["training", "checkpointing", "kv_cache"]
    model: str
    accelerators: int | None
    files: int | None
    size: int | None
    processes: int
    fits: bool | None
    forecast: Forecast | None
    commands: list[str]
    notes: list[Note]


class Submission(Contract):
    """The description of this server for a submission, and a sheet for each model. `unknown` are its open fields."""

    schema_version: Literal[1] = 1
    edition: str
    system: ClientFile
    unknown: list[str]
    free: int
    sheets: list[Sheet]
