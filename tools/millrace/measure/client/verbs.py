# SPDX-License-Identifier: Apache-2.0
"""`millrace client …`."""

from typing import TYPE_CHECKING, Any, BinaryIO

import click

from millrace.measure.bench.verbs import PROFILES as LOADS
from millrace.measure.client.choices import Accelerator, ClientWorkload, Gpu, Model, Protocol, RecipeWish
from millrace.measure.client.kubernetes_verbs import kubernetes
from millrace.serve.config.completion import SHARES, USERS
from millrace.system.output import Output, prints
from millrace.system.verb_group import VerbGroup

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from millrace.measure.client.model import Recipe

_share = click.option(
    "--share", metavar="NAME", shell_complete=SHARES, help="Share name; optional if only one share exists."
)
_host = click.option("--host", metavar="NAME", help="Host name of this server for clients [default: an IP address].")
_OPTIONS = (
    click.option(
        "--workload",
        type=click.Choice([one.value for one in ClientWorkload]),
        help="Workload of the client; with --gpu [default: training].",
    ),
    click.option(
        "--protocol",
        type=click.Choice([one.value for one in Protocol]),
        help="Protocol of the mount; with --gpu [default: nfs-rdma-trunked or nfs-rdma].",
    ),
    click.option(
        "--gpu",
        type=click.Choice([one.value for one in Gpu]),
        help="Maker of the client's GPUs; adds what reads straight into their memory need.",
    ),
    click.option(
        "--client-address",
        "client_addresses",
        metavar="ADDRESS",
        multiple=True,
        help="Address of an RDMA port of the client, for cufile.json; repeatable.",
    ),
    click.option("--local-cache", is_flag=True, help="Keep a read-only data set on local drives (fsc, cachefilesd)."),
    _share,
)
_user = click.option("--user", metavar="NAME", shell_complete=USERS, help="SMB user, NAME or DOMAIN\\NAME.")


def _chosen(command: "Callable[..., None]") -> "Callable[..., None]":
    """Add the options that choose a recipe, in their order."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.group(cls=VerbGroup)
def client() -> None:
    """Print mount recipes and check programs for clients."""


client.add_command(kubernetes)


@client.command()
@_chosen
@_host
@_user
@prints("millrace.measure.client.model:Recipe")
def recipe(show: Output, **chosen: Any) -> None:
    """Print mount recipes for clients."""
    from millrace.measure.client import text

    show(_recipe(**chosen), text.lines)


@client.command()
@_chosen
@prints("millrace.measure.client.model:Expect")
def expect(show: Output, **chosen: Any) -> None:
    """Print the values that check.pyz expects of the mount, as JSON."""
    show(_recipe(**chosen).expect)


@client.command()
@_chosen
@_host
@_user
@click.argument("output", type=click.File("wb"), metavar="FILE")
def kit(output: BinaryIO, **chosen: Any) -> None:
    """Write recipe, files and check.pyz to a tar archive; `-` is standard output."""
    from millrace.measure.client.kit import tar

    # before `output.write` is looked up, which opens the file: a refusal leaves it as it is
    made = tar(_recipe(**chosen))
    output.write(made)


@client.command("check-script")
@click.option(
    "--gpu",
    type=click.Choice([one.value for one in Gpu]),
    help="Also verify the way into the client's GPUs: drivers, PCIe, IOMMU, and whether reads are direct.",
)
def check_script(gpu: str | None) -> None:
    """Print check.pyz, which verifies a mount on the client: `python3 check.pyz /mnt/data --expect FILE`."""
    from millrace_client.pack import check

    click.echo(check(gpu), nl=False)


@client.command()
@click.option("--full", "mode", flag_value="full", help="5 repeats of 30 s, all workloads.")
@click.option("--quick", "mode", flag_value="quick", default="quick", help="3 repeats of 5 s, five workloads.")
@click.option(
    "--profile",
    "profiles",
    multiple=True,
    type=click.Choice(LOADS),
    help="Benchmark profile to measure; repeatable [default: all].",
)
@click.option("--seconds", type=float, help="Length of one repeat in seconds, 1 to 3600.")
@click.option("--repeats", type=int, help="Repeats of each workload, 1 to 100.")
@click.option("--size", metavar="SIZE", help="Maximum size of test files in the share, for example 20G.")
@click.argument("output", type=click.File("wb"), metavar="FILE")
def bench(output: BinaryIO, **options: object) -> None:
    """Write the client benchmark program: `python3 millrace-bench.pyz DIRECTORY`."""
    from millrace.measure.bench.plan import site
    from millrace.measure.bench.plan.client_program import bundle
    from millrace.measure.bench.plan.prepare import request

    wanted = request({"layers": [], "clients": [], "write_drives": [], **options})
    made = bundle(wanted, site.site())
    output.write(made)


@client.command()
@_host
@prints("millrace.measure.client.model:Zone")
def zone(host: str | None, show: Output) -> None:
    """Print DNS records: one name with all data addresses of this server."""
    import socket

    from millrace.measure.client.served import reachable
    from millrace.measure.client.trunking import zone as make_zone
    from millrace.serve.config.store import load
    from millrace.system import net

    ports = net.for_clients(net.serving(), load().management)
    made = make_zone(host or socket.gethostname(), reachable(ports, []))
    show(made, lambda records: [records.text.removesuffix("\n")])


@client.command()
@click.option("--client-memory", metavar="SIZE", required=True, help="Memory of one client, for example 512G.")
@_share
@click.option(
    "--model",
    "models",
    multiple=True,
    type=click.Choice([model.value for model in Model]),
    help="Workload of MLPerf Storage; repeatable [default: all].",
)
@click.option(
    "--accelerator",
    type=click.Choice([accelerator.value for accelerator in Accelerator]),
    default=Accelerator.B200.value,
    help="Type of emulated accelerator.",
)
@click.option("--accelerators", type=int, help="Number of accelerators [default: the forecast].")
@click.option("--clients", type=int, default=1, help="Number of clients that run the benchmark.")
@click.option("--name", default="millrace", metavar="NAME", help="Name of the system in the submission.")
@click.option(
    "--results", default="/var/tmp/mlperf-results", metavar="DIRECTORY", help="Directory for results on the clients."
)
@prints("millrace.measure.client.mlperf.model:Submission")
def mlperf(share: str | None, models: "Sequence[str]", client_memory: str, show: Output, **chosen: Any) -> None:
    """Print the description of this server and commands for a submission to MLPerf Storage."""
    from millrace.measure.bench.plan.site import site
    from millrace.measure.client.mlperf import text
    from millrace.measure.client.mlperf.sheets import Asked
    from millrace.measure.client.mlperf.submission import submission
    from millrace.measure.client.served import chosen as chosen_share
    from millrace.serve.config.store import load
    from millrace.serve.share.options import size
    from millrace.system.run import attempt

    config, here = load(), site()
    where = f"/mnt/{chosen_share(config, share).name}"
    asked = Asked(memory=size(client_memory) or 0, mountpoint=where, free=here.free, **chosen)
    show(submission(asked, list(models) or [model.value for model in Model], here, config, attempt), text.lines)


def _recipe(
    workload: str | None,
    protocol: str | None,
    gpu: str | None,
    client_addresses: "Sequence[str]",
    local_cache: bool,
    share: str | None,
    host: str | None = None,
    user: str | None = None,
) -> "Recipe":
    from millrace.measure.client.build import build
    from millrace.measure.client.served import served
    from millrace.plan.policy.policy_in_force import in_force
    from millrace.serve.config.store import load
    from millrace.storage.record.pool_file import known_pool
    from millrace.system import net
    from millrace.system.errors import BadInput, Refused

    if not gpu:
        for option, value in (("--workload", workload), ("--protocol", protocol)):
            if not value:
                raise BadInput(f"{option} is missing: millrace client recipe --help lists the choices")
    wanted = RecipeWish(
        workload=ClientWorkload(workload or ClientWorkload.TRAINING),
        protocol=Protocol(protocol) if protocol else None,
        host=host,
        user=user,
        gpu=Gpu(gpu) if gpu else None,
        local_cache=local_cache,
        client_addresses=list(client_addresses),
    )
    pool = known_pool()
    if pool is None:
        raise Refused("no pool yet, nothing to mount: `millrace status` shows the next step")
    served_share = served(load(), share, pool.filesystem.mountpoint, net.serving(), in_force().nfs.networks)
    return build(served_share, wanted)
