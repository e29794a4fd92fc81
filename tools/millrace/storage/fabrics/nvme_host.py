# SPDX-License-Identifier: Apache-2.0
"""The kernel's NVMe-oF host: its controllers in sysfs, and /dev/nvme-fabrics, which makes one for each line of options.

Written here and not by `nvme connect`, whose command line would show the secret (kernel 7.2,
drivers/nvme/host/fabrics.c).
"""

import errno
import os
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import NAMESPACE_OID, UUID, uuid5

from millrace.storage.fabrics.fabrics_model import ConnectionRow, FabricsConnection, NamespaceRow, PathRow
from millrace.system import paths, sysfs
from millrace.system.errors import Failed

DEVICE = "dev/nvme-fabrics"
CONTROLLERS, SUBSYSTEMS = "sys/class/nvme", "sys/class/nvme-subsystem"
SECTOR = 512

RECONNECT_SECONDS = 2
"""Between two attempts to reach a target again; the kernel's 10 s would lengthen each restart of it."""
FOR_EVER = -1
"""XFS shuts down at the first error of its device: requests wait for the target, however long it is away."""

SECRETS = ("dhchap_secret", "dhchap_ctrl_secret")

LIVE, MISSING = "live", "missing"

# What the kernel answers, where its own words say nothing of a target.
ANSWERS = {
    errno.ECONNREFUSED: "nothing listens on this port there",
    errno.ETIMEDOUT: "nothing answers there",
    errno.EHOSTUNREACH: "no host has this address",
    errno.ENETUNREACH: "no port of this server leads there",
    errno.EADDRNOTAVAIL: "no port of this server leads there",
    errno.EKEYREJECTED: "the target asks for a secret, or for another one",
    errno.EACCES: "the target asks for a secret, or for another one",
    errno.ECONNRESET: "it ended the connection",
    errno.EIO: "the target refused: it has no such subsystem, or does not allow this host",
    errno.EINVAL: "the target refused: it has no such subsystem, or does not allow this host",
    errno.ENODEV: "no port of this server has RDMA, or the kernel lacks the transport",
}


@dataclass(frozen=True)
class NvmeController:
    """A controller of the kernel over a network: one path to a subsystem."""

    name: str
    nqn: str
    address: str
    port: int
    state: str


def controllers() -> list[NvmeController]:
    """Return the controllers over TCP and RDMA, those that were connected by hand, too."""
    fabric_controllers = []
    for name in sysfs.names(paths.ROOT / CONTROLLERS):
        place = paths.ROOT / CONTROLLERS / name
        if sysfs.text(place / "transport") not in ("tcp", "rdma"):
            continue
        # traddr=10.0.0.1,trsvcid=4420,src_addr=10.0.0.2
        where = dict(word.split("=", 1) for word in (sysfs.text(place / "address") or "").split(",") if "=" in word)
        fabric_controllers.append(
            NvmeController(
                name=name,
                nqn=sysfs.text(place / "subsysnqn") or "",
                address=where.get("traddr", ""),
                port=int(where.get("trsvcid", 0)),
                state=sysfs.text(place / "state") or "unknown",
            )
        )
    return fabric_controllers


def row(connection: FabricsConnection) -> ConnectionRow:
    """Return a connection with its paths and block devices as they are now."""
    here = {(each.address, each.port): each for each in controllers() if each.nqn == connection.nqn}
    seen = [(address, here.get((address, connection.port))) for address in connection.addresses]
    return ConnectionRow(
        nqn=connection.nqn,
        host_nqn=connection.host_nqn,
        transport=connection.transport,
        port=connection.port,
        authenticated=connection.authenticated,
        paths=[
            PathRow(address=address, controller=each.name if each else None, state=each.state if each else MISSING)
            for address, each in seen
        ],
        namespaces=namespaces(connection.nqn),
    )


def namespaces(nqn: str) -> list[NamespaceRow]:
    """Return the block devices of a subsystem; with several paths each is one device (native multipath)."""
    rows = []
    for subsystem in sysfs.names(paths.ROOT / SUBSYSTEMS):
        if sysfs.text(paths.ROOT / SUBSYSTEMS / subsystem / "subsysnqn") != nqn:
            continue
        for name in sysfs.names(paths.ROOT / "sys/class/block"):
            place = paths.ROOT / "sys/class/block" / name
            # a namespace of it, no partition and no path that multipath hides
            if name.startswith(f"nvme{subsystem.removeprefix('nvme-subsys')}n") and not (place / "partition").exists():
                wwid = sysfs.text(place / "wwid") or name
                sectors = sysfs.number(place / "size") or 0
                rows.append(NamespaceRow(name=name, device=f"/dev/disk/by-id/nvme-{wwid}", size=sectors * SECTOR))
    return rows


def host_nqn() -> str:
    """Return the NQN of this server, which millrace-nvme-hostid.service writes; "" before that."""
    return sysfs.text(paths.ROOT / "etc/nvme/hostnqn") or ""


def attach(connection: FabricsConnection, address: str, secret: str | None) -> None:
    """Connect one path. Failed: the target cannot be reached or refuses, in words, without any part of the secret."""
    text = ",".join(options(connection, address, secret))
    try:
        _send(text)
        if secret:
            _hide_secrets(connection.nqn)
    except OSError as error:
        if error.errno == errno.EALREADY:
            return
        why = ANSWERS.get(error.errno or 0, os.strerror(error.errno or 0))
        raise Failed(f"{address} port {connection.port}: {why}") from error


def _hide_secrets(nqn: str) -> None:
    """Let root alone read the secrets of a connection; udev does so, too, and after each time that it was lost."""
    for each in controllers():
        if each.nqn == nqn:
            for name in SECRETS:
                (paths.ROOT / CONTROLLERS / each.name / name).chmod(0o600)


def _send(text: str) -> None:
    """The kernel answers when the path is connected, or with why not."""
    device = os.open(paths.ROOT / DEVICE, os.O_RDWR | os.O_CLOEXEC)
    try:
        os.write(device, text.encode())
    finally:
        os.close(device)


def options(connection: FabricsConnection, address: str, secret: str | None) -> Sequence[str]:
    """Return the options of a path as the kernel takes them (nvme-connect(1) has the same)."""
    settings = [
        f"nqn={connection.nqn}",
        f"transport={connection.transport}",
        f"traddr={address}",
        f"trsvcid={connection.port}",
        f"hostnqn={connection.host_nqn}",
        f"hostid={host_id(connection.host_nqn)}",
        f"ctrl_loss_tmo={FOR_EVER}",
        f"reconnect_delay={RECONNECT_SECONDS}",
    ]
    return [*settings, *([f"dhchap_secret={secret}"] if secret else [])]


def host_id(host: str) -> UUID:
    """Return the host ID that goes with an NQN: the UUID in it, as libnvme does, else one that is made of it."""
    try:
        return UUID(host.rpartition("uuid:")[2])
    except ValueError:
        return uuid5(NAMESPACE_OID, host)


def detach(name: str) -> None:
    """Remove a controller. OSError: the kernel refuses."""
    sysfs.write(paths.ROOT / CONTROLLERS / name / "delete_controller", "1\n")


def is_in_use(name: str) -> bool:
    """Whether a block device, or a partition of it, is mounted or a member of something."""
    try:
        os.close(os.open(paths.ROOT / "dev" / name, os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC))
    except OSError as error:
        return error.errno == errno.EBUSY
    return False
