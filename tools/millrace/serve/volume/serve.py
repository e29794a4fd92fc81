# SPDX-License-Identifier: Apache-2.0
"""From the documents on the pool to what hosts can connect: what millrace-volumes.service does, and what it shows."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from ipaddress import ip_network
from pathlib import Path

from millrace.serve.config import store as state
from millrace.serve.share.networks import nfs_networks
from millrace.serve.share.server import ShareServer, this_server
from millrace.serve.volume import carrier, target
from millrace.serve.volume.carrier import Xfs
from millrace.serve.volume.configfs import Configfs, Nvmet
from millrace.serve.volume.connected import connected
from millrace.serve.volume.model import Exports, Volume, VolumeExport, VolumeList, VolumeRow
from millrace.serve.volume.store import Store
from millrace.serve.volume.target import DesiredTarget, Subsystem
from millrace.system import paths
from millrace.system.documents import write_model
from millrace.system.errors import MillraceError
from millrace.system.files import write_text
from millrace.system.net import for_clients
from millrace.system.run import Runner, last_words, must
from millrace.system.text import size
from millrace.system.units import is_active

UNIT = "millrace-volumes.service"
CLOSED = "volumes are closed until a client network is confirmed: millrace share networks list"
_SETS = ("volume_ports", "volume_clients4", "volume_clients6")
_FLUSH = "".join(f"flush set inet millrace {one}\n" for one in _SETS)


@dataclass(frozen=True)
class Volumes:
    """The volumes of this server, and what only its kernel has."""

    server: ShareServer
    tree: Configfs = field(default_factory=Nvmet)
    xfs: Xfs = carrier.XFS

    @property
    def store(self) -> Store:
        """Where they are."""
        return Store(self.server.context.mountpoint)

    @property
    def run(self) -> Runner:
        """Runs a tool."""
        return self.server.run

    def networks(self) -> list[str]:
        """Return the client networks, which are those of NFS: of the policy, else confirmed."""
        return nfs_networks(self.server.context.networks, state.load().nfs.networks)

    def goal(self, exports: Exports) -> DesiredTarget:
        """Return what nvmet should serve, on the addresses of all ports but those of management."""
        ports = for_clients(self.server.ports, state.load().management)
        addresses = [one.ip for port in ports for one in port.addresses]
        return target.wanted(self._all(), exports, addresses)

    def _all(self) -> dict[str, tuple[Volume, str]]:
        store = self.store
        return {name: (one, str(store.data(name))) for name, one in store.all().items()}


def this_volumes() -> Volumes:
    """Return the volumes of this server. Failed, BadInput: its pool is not mounted, or it has none."""
    return Volumes(this_server())


def render(volumes: Volumes) -> list[str]:
    """Serve every exported volume and no other; return what keeps one from being served, in words. Idempotent.

    What hosts discarded is allocated again first, so that the space of a volume stays its own.
    """
    problems = fill(volumes)
    exports = volumes.store.exports()
    networks = volumes.networks()
    if exports.volumes and not networks:
        problems.append(CLOSED)
    write_text(paths.volume_port_file(), firewall(exports, networks))
    problems += target.apply(volumes.goal(exports), volumes.tree)
    opened = volumes.run(["nft", "-f", str(paths.volume_port_file())])
    if opened.status != 0:
        problems.append(f"the firewall does not open the ports of volumes: {last_words(opened)}")
    record(volumes)
    return problems


def withdraw(tree: Configfs, run: Runner) -> list[str]:
    """Close the ports of volumes and serve none; return what the kernel refused, in words."""
    paths.volume_port_file().unlink(missing_ok=True)
    run(["nft", "-f", "-"], _FLUSH)
    return target.apply(DesiredTarget(), tree)


def settle(volumes: Volumes) -> None:
    """Let the unit serve what the documents say; end it where nothing is exported. Failed: it does not."""
    if volumes.store.exports().volumes:
        must(volumes.run, ["systemctl", "reload-or-restart", UNIT])
    elif is_active(UNIT, volumes.run):
        must(volumes.run, ["systemctl", "stop", UNIT])
    record(volumes)


def fill(volumes: Volumes) -> list[str]:
    """Allocate what hosts discarded: nvmet punches holes, which others could fill. Return what is not, in words."""
    problems = []
    for name in volumes.store.all():
        path = volumes.store.data(name)
        try:
            whole = carrier.size(path)
            if carrier.allocated(path) < whole:
                with carrier.opened(path) as descriptor:
                    volumes.xfs.allocate(descriptor, 0, whole)
        except OSError as error:
            problems.append(f"volume {name} has {_allocated(path)}: {error.strerror or error}")
    return problems


def firewall(exports: Exports, networks: Sequence[str]) -> str:
    """Return the rules that let the client networks reach the ports of exported volumes, over TCP."""
    ports = sorted(str(export.port) for export in exports.volumes.values() if export.transport == "tcp")
    families = {4: "volume_clients4", 6: "volume_clients6"}
    text = "# SPDX-License-Identifier: Apache-2.0\n# Written by millrace-volumes.service.\n" + _FLUSH
    if ports:
        text += f"add element inet millrace volume_ports {{ {', '.join(ports)} }}\n"
    for version, name in families.items():
        named = [network for network in networks if ip_network(network).version == version]
        if named:
            text += f"add element inet millrace {name} {{ {', '.join(named)} }}\n"
    return text


def rows(volumes: Volumes) -> list[VolumeRow]:
    """Return every volume as it is now. BadInput: a document on the pool cannot be read."""
    exports = volumes.store.exports()
    served = {one.nqn: one for one in volumes.goal(exports).subsystems}
    return [_row(name, one, served.get(one.nqn), exports, volumes) for name, one in volumes.store.all().items()]


def record(volumes: Volumes) -> None:
    """Write how volumes are to /run/millrace/volumes.json, for health: it does not open the pool."""
    found = rows(volumes)
    if found:
        write_model(paths.volumes_file(), VolumeList(volumes=found))
    else:
        paths.volumes_file().unlink(missing_ok=True)


def _row(name: str, volume: Volume, served: Subsystem | None, exports: Exports, volumes: Volumes) -> VolumeRow:
    path, export = volumes.store.data(name), exports.volumes.get(volume.uuid)
    problem, hosts = None, []
    if served is not None and export is not None:
        problem = target.missing(served, volumes.tree) or (None if volumes.networks() else CLOSED)
        try:
            hosts = connected(export, volumes.run)
        except MillraceError as error:
            problem = problem or str(error)
    addresses = target.addresses(served, volumes.tree) if served is not None else []
    authenticated = export is not None and all(host in exports.secrets for host in export.hosts)
    return VolumeRow(
        name=name,
        uuid=volume.uuid,
        nqn=volume.nqn,
        size=carrier.size(path),
        allocated=carrier.allocated(path),
        origin=volume.origin,
        created=volume.created,
        by=volume.by,
        export=export,
        authenticated=authenticated,
        addresses=addresses,
        connect=_connect(volume.nqn, export, addresses, authenticated) if export is not None else [],
        connected=hosts,
        problem=problem,
    )


def _connect(nqn: str, export: VolumeExport, addresses: Sequence[str], authenticated: bool) -> list[str]:
    secret = " --dhchap-secret=…" if authenticated else ""
    where = f"-s {export.port} -n {nqn}{secret}"
    return [f"nvme connect -t {export.transport} -a {address} {where}" for address in addresses]


def _allocated(path: Path) -> str:
    try:
        return f"{size(carrier.allocated(path))} of its {size(carrier.size(path))} allocated"
    except OSError:
        return "no data"
