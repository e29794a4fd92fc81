# SPDX-License-Identifier: Apache-2.0
"""`millrace client …`."""

from typing import TYPE_CHECKING, BinaryIO

import click

from millrace.bench.verbs import PROFILES as LOADS
from millrace.client.choices import Profile, Protocol
from millrace.client.kubernetes_verbs import kubernetes
from millrace.system.output import Output, prints

if TYPE_CHECKING:
    from millrace.client.model import Recipe

_profile = click.option(
    "--profile", type=click.Choice([one.value for one in Profile]), required=True, help="Workload of the client."
)
_protocol = click.option(
    "--protocol", type=click.Choice([one.value for one in Protocol]), required=True, help="Protocol of the mount."
)
_share = click.option("--share", metavar="NAME", help="Share name; optional if only one share exists.")
_host = click.option("--host", metavar="NAME", help="Host name of this server for clients [default: an IP address].")
_user = click.option("--user", metavar="NAME", help="SMB user, NAME or DOMAIN\\NAME.")


@click.group()
def client() -> None:
    """Print mount recipes and check programs for clients."""


client.add_command(kubernetes)


@client.command()
@_profile
@_protocol
@_share
@_host
@_user
@prints("millrace.client.model:Recipe")
def recipe(profile: str, protocol: str, share: str | None, host: str | None, user: str | None, show: Output) -> None:
    """Print mount recipes for clients."""
    from millrace.client import text

    show(_recipe(profile, protocol, share, host, user), text.lines)


@client.command()
@_profile
@_protocol
@_share
@prints("millrace.client.model:Expect")
def expect(profile: str, protocol: str, share: str | None, show: Output) -> None:
    """Print the values that check.py expects of the mount, as JSON."""
    show(_recipe(profile, protocol, share, None, None).expect)


@client.command()
@_profile
@_protocol
@_share
@_host
@_user
@click.argument("output", type=click.File("wb"), metavar="FILE")
def kit(profile: str, protocol: str, share: str | None, host: str | None, user: str | None, output: BinaryIO) -> None:
    """Write recipe, files and check.py to a tar archive; `-` is standard output."""
    from millrace.client.kit import tar

    # before `output.write` is looked up, which opens the file: a refusal leaves it as it is
    made = tar(_recipe(profile, protocol, share, host, user))
    output.write(made)


@client.command("check-script")
def check_script() -> None:
    """Print check.py, which verifies a mount on the client: `python3 check.py /mnt/data --expect FILE`."""
    from millrace_client import source

    click.echo(source("check.py"), nl=False)


@client.command()
@click.option("--full", "mode", flag_value="full", help="5 repeats of 30 s, all workloads.")
@click.option("--quick", "mode", flag_value="quick", default="quick", help="3 repeats of 5 s, five workloads.")
@click.option(
    "--profile",
    "profiles",
    multiple=True,
    type=click.Choice(LOADS),
    help="Workload to measure; repeatable [default: all].",
)
@click.option("--seconds", type=float, help="Length of one repeat in seconds, 1 to 3600.")
@click.option("--repeats", type=int, help="Repeats of each workload, 1 to 100.")
@click.option("--size", metavar="SIZE", help="Maximum size of test files in the share, for example 20G.")
@click.argument("output", type=click.File("wb"), metavar="FILE")
def bench(output: BinaryIO, **options: object) -> None:
    """Write the client benchmark program: `python3 millrace-bench.pyz DIRECTORY`."""
    from millrace.bench.plan import site
    from millrace.bench.plan.client_program import bundle
    from millrace.bench.plan.prepare import request

    wanted = request({"layers": [], "clients": [], "write_drives": [], **options})
    made = bundle(wanted, site.site())
    output.write(made)


@client.command()
@_host
@prints("millrace.client.model:Zone")
def zone(host: str | None, show: Output) -> None:
    """Print DNS records: one name with all data addresses of this server."""
    import socket

    from millrace.client.served import reachable
    from millrace.client.trunking import zone as make_zone
    from millrace.state.store import load
    from millrace.system import net

    ports = net.for_clients(net.serving(), load().management)
    made = make_zone(host or socket.gethostname(), reachable(ports, []))
    show(made, lambda one: [one.text.removesuffix("\n")])


def _recipe(profile: str, protocol: str, share: str | None, host: str | None, user: str | None) -> "Recipe":
    from millrace.client.build import build
    from millrace.client.served import served
    from millrace.errors import Refused
    from millrace.plan.policy_in_force import in_force
    from millrace.provision.pool_file import known_pool
    from millrace.state.store import load
    from millrace.system import net
    from millrace.system.net import has_rdma_device

    pool = known_pool()
    if pool is None:
        raise Refused("no pool yet, nothing to mount: `millrace status` shows the next step")
    one = served(load(), share, pool.filesystem.mountpoint, net.serving(), in_force().nfs.networks)
    return build(one, Profile(profile), Protocol(protocol), host, user, has_rdma_device())
