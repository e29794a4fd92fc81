# SPDX-License-Identifier: Apache-2.0
"""`millrace client kubernetes`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from millrace.measure.client.choices import ClientWorkload
from millrace.serve.config.completion import SHARES
from millrace.system.output import Output, prints

if TYPE_CHECKING:
    from millrace.measure.client.kubernetes import KubernetesRecipe


@click.command()
@click.option("--share", metavar="NAME", shell_complete=SHARES, help="Share name; optional if only one share exists.")
@click.option("--class", "name", metavar="NAME", help="Name of the StorageClass [default: millrace-SHARE].")
@click.option("--namespace", default="default", show_default=True, help="Namespace of the secret and of claims.")
@click.option(
    "--dataset",
    "datasets",
    multiple=True,
    metavar="DIRECTORY",
    help="Directory of the share as a volume that pods only read; repeatable.",
)
@click.option(
    "--workload",
    type=click.Choice([workload.value for workload in ClientWorkload]),
    default=ClientWorkload.MIXED.value,
    show_default=True,
    help="Workload of the pods.",
)
@click.option("--host", metavar="NAME", help="Host name of this server for clients [default: an IP address].")
@prints("millrace.measure.client.kubernetes:KubernetesRecipe")
def kubernetes(
    share: str | None,
    name: str | None,
    namespace: str,
    datasets: tuple[str, ...],
    workload: str,
    host: str | None,
    show: Output,
) -> None:
    """Print objects of a Kubernetes cluster that uses a share through csi-driver-nfs, for `kubectl apply -f -`."""
    from millrace.measure.client.kubernetes import StorageClassWish, recipe
    from millrace.measure.client.kubernetes_names import checked
    from millrace.measure.client.served import served
    from millrace.plan.policy.policy_in_force import in_force
    from millrace.serve.config.store import load
    from millrace.storage.record.pool_file import known_pool
    from millrace.system import names, net
    from millrace.system.errors import Refused

    pool = known_pool()
    if pool is None:
        raise Refused("no pool yet, nothing to mount: `millrace status` shows the next step")
    if host is not None:
        checked(names.host_name, host)
    config = load()
    served_share = served(config, share, pool.filesystem.mountpoint, net.serving(), in_force().nfs.networks)
    desired = config.share(served_share.name)
    assert desired is not None
    wanted = StorageClassWish(name, namespace, ClientWorkload(workload), host, datasets)
    show(recipe(served_share, desired, wanted), _lines)


def _lines(found: "KubernetesRecipe") -> Iterator[str]:
    yield f"# Share {found.share} for Kubernetes with csi-driver-nfs: kubectl apply -f -"
    yield from (f"# - {note.text} [{note.source}]" for note in found.notes)
    yield found.yaml.removesuffix("\n")
