# SPDX-License-Identifier: Apache-2.0
"""Everything for a submission, from this server as it is."""

import os
from collections.abc import Mapping
from pathlib import Path

from millrace.measure.bench.plan.site import Site
from millrace.measure.bench.result import store
from millrace.measure.bench.result.model import BenchRun
from millrace.measure.bench.run.guard import hypervisor
from millrace.measure.client.mlperf import rules, sheets, system
from millrace.measure.client.mlperf.model import Sheet, Submission
from millrace.measure.client.mlperf.sheets import Asked
from millrace.measure.client.model import ClientFile
from millrace.plan.predict import predict
from millrace.serve.config.model import Config
from millrace.system import net, paths, sysfs
from millrace.system.errors import BadInput, MillraceError, Refused
from millrace.system.names import share_name
from millrace.system.run import Runner
from millrace.system.text import printable, shown
from millrace.tune.settings import in_force

MOST_CLIENTS = 1024
MOST_ACCELERATORS = 1 << 20


def submission(asked: Asked, models: list[str], site: Site, config: Config, run: Runner) -> Submission:
    """Return description and sheets. BadInput: a number or a name is none. Refused: no model fits the accelerator."""
    problem = share_name.problem(asked.name)
    if problem:
        raise BadInput(problem.replace("the name of a share", "the name of a system"))
    if not 1 <= asked.clients <= MOST_CLIENTS:
        raise BadInput(f"{asked.clients} is no number of clients: use 1 to {MOST_CLIENTS}")
    if asked.accelerators is not None and not 1 <= asked.accelerators <= MOST_ACCELERATORS:
        raise BadInput(f"{asked.accelerators} is no number of accelerators: use 1 to {MOST_ACCELERATORS}")
    if asked.memory < 1 << 30:
        raise BadInput("the memory of a client is at least 1G: write it like 512G")
    _verify_results(asked)
    sheet_list = _sheets(asked, models, site)
    if not sheet_list:
        raise Refused(f"the rules have no {', '.join(models)} for {asked.accelerator}: use --accelerator b200")
    product = sysfs.text(paths.ROOT / "sys/class/dmi/id/product_name")
    described = system.document(
        asked.name,
        site,
        system.SystemFacts(
            product=product or None,
            virtual=hypervisor(run) is not None,
            links={nic.name: sysfs.number(net.directory(nic.name) / "type") for nic in site.inventory.nics},
            roles=_roles(config),
            sysctl={name: str(value) for name, value in in_force(site.pool).sysctl.items()},
            clients=asked.clients,
            memory=asked.memory,
        ),
    )
    return Submission(
        edition=rules.EDITION,
        system=ClientFile(path=f"systems/{asked.name}.yaml", mode="0644", text=system.yaml(described)),
        unknown=system.unknown(described),
        free=asked.free,
        sheets=sheet_list,
    )


def _verify_results(asked: Asked) -> None:
    """BadInput: results cannot be in this directory of the clients."""
    directory = os.path.normpath(asked.results)
    if not asked.results.startswith("/") or printable(asked.results) != asked.results:
        raise BadInput(
            f"{shown(asked.results)} is not a directory of the clients for results: write it like /var/tmp/results"
        )
    if Path(directory).is_relative_to(asked.mountpoint):
        raise BadInput(
            f"results cannot be in {shown(directory)}, which is on this server: name a directory outside "
            f"{asked.mountpoint} with --results"
        )


def _sheets(asked: Asked, models: list[str], site: Site) -> list[Sheet]:
    outcomes = predict(site.inventory, site.arrays).outcomes if site.arrays else []
    runs = _runs()
    trained = [one for one in rules.TRAININGS if one.accelerator == asked.accelerator]
    return [
        *(sheets.training(one, asked, runs, outcomes) for one in trained if one.model in models),
        *(sheets.checkpointing(one, asked) for one in rules.CHECKPOINTED if one.model in models),
        *([sheets.kv_cache(asked)] if "kvcache" in models else []),
    ]


def _runs() -> list[BenchRun]:
    """The runs that can be read, newest first."""
    found = []
    for name in store.ids():
        try:
            found.append(store.load(name))
        except MillraceError:
            continue
    return found


def _roles(config: Config) -> Mapping[str, list[str]]:
    """The traffic of each port that is known: a port with an address serves data, the management port does not."""
    ports = net.serving()
    data = {one.name for one in net.for_clients(ports, config.management) if one.addresses}
    return {one.name: ["data", "metadata"] if one.name in data else ["management"] for one in ports if one.addresses}
