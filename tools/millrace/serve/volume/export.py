# SPDX-License-Identifier: Apache-2.0
"""To which hosts a volume is exported: what was typed, verified, written, served, and put back where that fails."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from pydantic import TypeAdapter

from millrace.serve.volume.connected import connected
from millrace.serve.volume.model import MOST_EXPORTED, Exports, HostAddress, Volume, VolumeExport
from millrace.serve.volume.serve import CLOSED, Volumes, rows, settle, within
from millrace.system.documents import checked
from millrace.system.errors import BadInput, Failed, MillraceError, Refused
from millrace.system.names import several
from millrace.system.net import has_rdma_device
from millrace.system.nvme import FIRST_PORT, Nqn, Secret, Transport


@dataclass(frozen=True)
class VolumeOrder:
    """How a volume is to be exported; `secrets` are those of the hosts, in their order, or none.

    `addresses` are where the hosts are: addresses or networks.
    """

    transport: Transport
    hosts: Sequence[str]
    addresses: Sequence[str]
    shared: bool = False
    secrets: Sequence[str] = field(default_factory=tuple)


def verified(order: VolumeOrder, name: str, volumes: Volumes) -> VolumeOrder:
    """Verify what was typed and what it needs; return it in its normal form.

    BadInput: a host, an address or a secret is none, or the numbers of hosts and secrets differ. Refused: an address is
    in no client network, no client network is confirmed, there is no RDMA device, or several hosts would write one
    volume.
    """
    if not order.hosts:
        raise BadInput(f"volume {name} needs a host to be exported to: --host with the NQN of /etc/nvme/hostnqn there")
    hosts = checked(lambda: [TypeAdapter(Nqn).validate_python(host) for host in order.hosts])
    if len(set(hosts)) != len(hosts):
        raise BadInput(f"a host is named twice for volume {name}")
    if len(hosts) > 1 and not order.shared:
        raise Refused(
            f"volume {name} would be written by {len(hosts)} hosts, which destroys a file system that is not made for "
            "it: name one host, or add --shared where they use reservations or a cluster file system"
        )
    if order.secrets and len(order.secrets) != len(hosts):
        raise BadInput(f"{len(hosts)} hosts are named and {len(order.secrets)} secrets given: one line for each --host")
    secrets = checked(lambda: [TypeAdapter(Secret).validate_python(secret) for secret in order.secrets])
    if order.transport == "rdma" and not has_rdma_device():
        raise Refused(f"volume {name} cannot be exported over RDMA: this server has no RDMA device; use tcp")
    networks = volumes.networks()
    if not networks:
        raise Refused(CLOSED)
    addresses = _addresses(name, order.addresses, networks)
    return VolumeOrder(order.transport, hosts, addresses, order.shared, secrets)


def added(exports: Exports, uuid: UUID, order: VolumeOrder) -> Exports:
    """Return the exports with one that is new or changed. Refused: too many volumes are exported."""
    before = exports.volumes.get(uuid)
    export = VolumeExport(
        transport=order.transport,
        port=before.port if before else _free_port(exports),
        hosts=list(order.hosts),
        shared=order.shared,
        addresses=list(order.addresses),
    )
    secrets = exports.secrets | dict(zip(order.hosts, order.secrets, strict=False))
    return exports.model_copy(update={"volumes": {**exports.volumes, uuid: export}, "secrets": secrets})


def without(exports: Exports, uuid: UUID) -> Exports:
    """Return the exports without that of a volume."""
    left = {other: one for other, one in exports.volumes.items() if other != uuid}
    return exports.model_copy(update={"volumes": left})


def serve(name: str, before: Exports, volumes: Volumes) -> None:
    """Serve what was written and verify that this volume is. Refused: it is not; `before` is in force again."""
    try:
        settle(volumes)
        problem = next((row.problem for row in rows(volumes) if row.name == name), None)
    except (MillraceError, OSError) as error:
        problem = str(error).rstrip(".")
    if problem is None:
        return
    trouble = "nothing was changed"
    try:
        volumes.store.save_exports(before)
        settle(volumes)
    except (MillraceError, OSError) as error:
        trouble = f"and restoring the previous exports failed: {error}"
    raise Refused(f"volume {name} is not served: {problem}; {trouble}")


def refuse_connected(name: str, volume: Volume, volumes: Volumes, remedy: str) -> None:
    """Verify that no host is connected. Refused: one is, or the kernel does not report it."""
    export = volumes.store.exports().volumes.get(volume.uuid)
    if export is None:
        return
    try:
        hosts = connected(export, volumes.run)
    except Failed as error:
        raise Refused(f"whether a host is connected to volume {name} is not known: {error}; {remedy}") from error
    if hosts:
        raise Refused(f"volume {name} is connected by {several([host.address for host in hosts])}: {remedy}")


def _addresses(name: str, typed: Sequence[str], networks: Sequence[str]) -> list[str]:
    if not typed:
        raise BadInput(f"volume {name} needs the address of its host: --address with an address or a network")
    addresses = checked(lambda: [TypeAdapter(HostAddress).validate_python(address) for address in typed])
    outside = [address for address in addresses if not within(address, networks)]
    if outside:
        verb = "is" if len(outside) == 1 else "are"
        raise Refused(
            f"{several(outside)} {verb} in no client network, and volumes are served in client networks only: "
            "millrace share networks list"
        )
    return addresses


def _free_port(exports: Exports) -> int:
    used = {one.port for one in exports.volumes.values()}
    for port in range(FIRST_PORT, FIRST_PORT + MOST_EXPORTED):
        if port not in used:
            return port
    raise Refused(f"{MOST_EXPORTED} volumes are exported, which is the most: detach one first")
