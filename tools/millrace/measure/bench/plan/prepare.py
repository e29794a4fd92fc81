# SPDX-License-Identifier: Apache-2.0
"""From the options of a verb to a run that can start."""

from dataclasses import dataclass
from typing import Any

from millrace.measure.bench.plan import clients
from millrace.measure.bench.plan import site as sites
from millrace.measure.bench.plan.estimate import estimate
from millrace.measure.bench.plan.site import Site
from millrace.measure.bench.plan.sizes import Sizes, sizes
from millrace.measure.bench.plan.steps import RungStep, layouts, planned_steps
from millrace.measure.bench.result.model import RunRequest
from millrace.measure.bench.result.outputs import BenchEstimate
from millrace.serve.share.options import size
from millrace.system.documents import checked


@dataclass(frozen=True)
class PreparedRun:
    """Everything that is decided before the first byte is moved."""

    request: RunRequest
    site: Site
    sizes: Sizes
    steps: list[RungStep]

    @property
    def estimate(self) -> BenchEstimate:
        """Duration, space and bytes written that the run is expected to take."""
        return estimate(self.request, self.steps, self.sizes)


def request(options: dict[str, Any]) -> RunRequest:
    """Return a request from the options of a verb. BadInput: they are not valid."""
    typed = options.get("size")
    values = {**options, "size": size(typed) if typed else None}
    for name in ("layers", "profiles", "clients", "write_drives"):
        values[name] = list(dict.fromkeys(values[name]))
    return checked(lambda: RunRequest.model_validate(values))


def prepare(wanted: RunRequest) -> PreparedRun:
    """Decide everything about a run on this server. BadInput: the request is not valid. Refused: it cannot run here."""
    site = sites.site(clients=clients.chosen(wanted.clients))
    steps = planned_steps(wanted, site)
    measure = sizes(wanted, site.free, site.memory, site.cores, layouts(steps))
    return PreparedRun(wanted, site, measure, steps)
