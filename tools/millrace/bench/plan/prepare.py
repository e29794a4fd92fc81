# SPDX-License-Identifier: Apache-2.0
"""From what somebody typed to a run that could start."""

from dataclasses import dataclass
from typing import Any

from millrace.bench.plan import clients
from millrace.bench.plan import site as sites
from millrace.bench.plan.estimate import estimate
from millrace.bench.plan.site import Site
from millrace.bench.plan.sizes import Sizes, sizes
from millrace.bench.plan.steps import Step, layouts, planned_steps
from millrace.bench.result.model import RunRequest
from millrace.bench.result.outputs import Estimate
from millrace.share.options import size
from millrace.system.documents import checked


@dataclass(frozen=True)
class Prepared:
    """All that is decided before the first byte is moved."""

    request: RunRequest
    site: Site
    sizes: Sizes
    steps: list[Step]

    @property
    def estimate(self) -> Estimate:
        """Duration, space and bytes written that the run is expected to take."""
        return estimate(self.request, self.steps, self.sizes)


def request(options: dict[str, Any]) -> RunRequest:
    """A request from the options of a verb; BadInput where one cannot be."""
    typed = options.get("size")
    values = {**options, "size": size(typed) if typed else None}
    for name in ("layers", "profiles", "clients", "write_drives"):
        values[name] = list(dict.fromkeys(values[name]))
    return checked(lambda: RunRequest.model_validate(values))


def prepare(wanted: RunRequest) -> Prepared:
    """Everything about a run on this server; BadInput or Refused where it cannot be."""
    here = sites.site(clients=clients.chosen(wanted.clients))
    steps = planned_steps(wanted, here)
    measure = sizes(wanted, here.free, here.memory, here.cores, layouts(steps))
    return Prepared(wanted, here, measure, steps)
