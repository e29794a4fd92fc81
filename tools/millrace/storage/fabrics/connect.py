# SPDX-License-Identifier: Apache-2.0
"""Connect a subsystem, now and at each boot; connect it no more."""

from collections.abc import Sequence

from millrace.storage.assemble import external_device
from millrace.storage.fabrics import connection_store, nvme_host
from millrace.storage.fabrics.fabrics_model import ConnectionList, ConnectionReport, FabricsConnection
from millrace.storage.record.pool_file import known_pool
from millrace.system.documents import checked
from millrace.system.errors import BadInput, Failed, Refused
from millrace.system.nvme import Transport, dhchap_secret
from millrace.system.run import Runner, must
from millrace.system.wait import wait_until

UNIT = "millrace-backend.service"
PAUSES = (0.1,) * 100
"""udev names a device after the kernel has it, and the kernel has it after the connection."""


def wanted(
    nqn: str, transport: Transport, port: int, addresses: Sequence[str], secret: str | None
) -> FabricsConnection:
    """Return what is to be connected.

    BadInput: a part of it is malformed, in one sentence without the secret. Failed: this server has no identity yet.
    """
    try:
        if secret is not None:
            dhchap_secret(secret)
    except ValueError as error:
        raise BadInput(str(error)) from error
    host = nvme_host.host_nqn()
    if not host:
        raise Failed("this server has no NQN yet: systemctl start millrace-nvme-hostid, then try again")
    return checked(
        lambda: FabricsConnection(
            nqn=nqn,
            host_nqn=host,
            transport=transport,
            port=port,
            addresses=list(dict.fromkeys(addresses)),
            authenticated=secret is not None,
        )
    )


def connect(connection: FabricsConnection, secret: str | None, run: Runner) -> ConnectionReport:
    """Connect a subsystem at its addresses and record it.

    Refused: it is connected already, also by hand. Failed: no address connects; nothing was recorded.
    """
    with connection_store.change():
        known = connection_store.connections()
        if any(each.nqn == connection.nqn for each in known):
            raise Refused(
                f"{connection.nqn} is connected already: millrace backend list, or first millrace backend disconnect"
            )
        if any(each.nqn == connection.nqn for each in nvme_host.controllers()):
            raise Refused(f"{connection.nqn} was connected by hand: first nvme disconnect --nqn={connection.nqn}")
        problems = _attach(connection, connection.addresses, secret, run)
        if len(problems) == len(connection.addresses):
            raise Failed(f"{connection.nqn} was not connected: {'; '.join(problems)}")
        connection_store.save(
            [*known, connection], {**connection_store.secrets(), **({connection.nqn: secret} if secret else {})}
        )
    wait_until(lambda: nvme_host.namespaces(connection.nqn), bool, PAUSES)
    row = nvme_host.row(connection)
    if problems:
        must(run, ["systemctl", "restart", "--no-block", UNIT])
    later = [f"{problem}; it is tried again until it connects" for problem in problems]
    bare = [] if row.namespaces else ["the subsystem has no namespace yet: its target has to add one"]
    return ConnectionReport(
        nqn=connection.nqn,
        connection=row,
        done=f"{connection.nqn} is connected, now and at each boot.",
        warnings=[*later, *bare],
    )


def connect_all(run: Runner) -> list[str]:
    """Connect every path that is recorded and not there; return why some are not, a sentence each."""
    with connection_store.change():
        known = connection_store.connections()
        secrets = connection_store.secrets() if any(connection.authenticated for connection in known) else {}
        problems = []
        for connection in known:
            missing = [path.address for path in nvme_host.row(connection).paths if path.controller is None]
            if missing:
                problems += _attach(connection, missing, secrets.get(connection.nqn), run)
        return problems


def disconnect(nqn: str) -> ConnectionReport:
    """Connect a subsystem no more, from now on.

    Refused: it is not one of ours; the pool lies on it, or something else uses it. Failed: the kernel refuses.
    """
    with connection_store.change():
        known = connection_store.connections()
        if not any(connection.nqn == nqn for connection in known):
            raise Refused(f"{nqn} is not connected by Millrace: millrace backend list")
        _refuse_used(nqn)
        # first: a power cut leaves it disconnected, and no record of what is away
        left = [connection for connection in known if connection.nqn != nqn]
        connection_store.save(
            left, connection_store.secrets() if any(connection.authenticated for connection in left) else {}
        )
        if problems := _detach(nqn):
            raise Failed(f"{'; '.join(problems)}; it will not be connected at the next boot")
    return ConnectionReport(nqn=nqn, connection=None, done=f"{nqn} is disconnected, now and at each boot.")


def release() -> list[str]:
    """Disconnect at shutdown what is connected at each boot; return what was left and why, a sentence each.

    A target that is not told refuses to remove or to detach the volume until the keep-alive of this host runs out.
    BadInput: the record is damaged. Refused: another change is under way.
    """
    left = []
    with connection_store.change():
        for connection in connection_store.connections():
            used = [each.name for each in nvme_host.namespaces(connection.nqn) if nvme_host.is_in_use(each.name)]
            left += [f"{connection.nqn}: /dev/{name} is in use" for name in used] if used else _detach(connection.nqn)
    return left


def connection_list() -> ConnectionList:
    """Return all connections as they are now. BadInput: the record is damaged."""
    rows = [nvme_host.row(one) for one in connection_store.connections()]
    return ConnectionList(host_nqn=nvme_host.host_nqn(), connections=sorted(rows, key=lambda row: row.nqn))


def _attach(one: FabricsConnection, addresses: Sequence[str], secret: str | None, run: Runner) -> list[str]:
    must(run, ["modprobe", f"nvme-{one.transport}"])
    problems = []
    for address in addresses:
        try:
            nvme_host.attach(one, address, secret)
        except Failed as error:
            problems.append(str(error))
    return problems


def _detach(nqn: str) -> list[str]:
    """Remove the paths to a subsystem; return why some are left, a sentence each."""
    problems = []
    for each in nvme_host.controllers():
        if each.nqn == nqn:
            try:
                nvme_host.detach(each.name)
            except OSError as error:
                problems.append(f"{each.address} port {each.port} was not disconnected: {error.strerror}")
    return problems


def _refuse_used(nqn: str) -> None:
    names = [each.name for each in nvme_host.namespaces(nqn)]
    pool = known_pool()
    carriers = [] if pool is None else [part.record.partuuid for part in external_device.parts(pool)]
    for name in names:
        if any(found.startswith(f"{name}p") for uuid in carriers for found in external_device.devices(uuid)):
            raise Refused(f"the pool lies on /dev/{name}: first move it to another server, with millrace reset here")
        if nvme_host.is_in_use(name):
            raise Refused(f"/dev/{name} is in use: unmount it first")
