# SPDX-License-Identifier: Apache-2.0
"""What a planned server can reach at most, layer by layer."""

from typing import Literal

from millrace.system.documents import Contract

Direction = Literal["read", "write"]
Transport = Literal["tcp", "rdma"]
State = Literal["healthy", "degraded"]
LayerName = Literal["drives", "pcie", "memory", "cpu", "md", "nic"]
Evidence = Literal["specification", "textbook", "calibrated", "measured", "unknown"]


class Layer(Contract):
    """The limit of one layer in bytes/s; None is `not known`.

    `evidence` is the weakest among the constants behind it. `measure` says what would find out what is not known;
    a layer that has a limit and a `measure` is at best this fast.
    """

    name: LayerName
    limit: int | None
    evidence: Evidence
    reason: str
    measure: str | None = None


class Outcome(Contract):
    """One way to use the server. `limit` in bytes/s is the lowest known one, `bound_by` the layer that sets it.

    It is never a promise: a layer that is not known may be lower.
    """

    direction: Direction
    transport: Transport
    state: State
    limit: int | None
    bound_by: LayerName | None
    layers: list[Layer]

    def not_known(self) -> list[LayerName]:
        """The layers that may be lower than `limit`."""
        return [layer.name for layer in self.layers if layer.limit is None]


class Prediction(Contract):
    """The outcomes, in the order in which a person reads them; degraded is with one drive of each leg gone."""

    outcomes: list[Outcome]
