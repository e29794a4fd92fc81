# SPDX-License-Identifier: Apache-2.0
"""The network as it is and as it was decided, in one document."""

from millrace.serve.config.store import load
from millrace.serve.network import trial_record
from millrace.serve.network.host_name import current
from millrace.serve.network.links import links, reports
from millrace.serve.network.model import NetworkReport
from millrace.system.run import Runner


def found(run: Runner) -> NetworkReport:
    """Return the network; while a change waits, with what is tried. Failed: iproute2 lists no links."""
    config = trial_record.in_force(load())
    return NetworkReport(
        host_name=current(),
        domain=config.domain.zone if config.domain else None,
        links=reports(links(run), config),
        routes=config.network.routes,
        dns=config.network.dns,
        search=config.network.search,
        ntp=config.network.ntp,
        trial=trial_record.report(),
    )
