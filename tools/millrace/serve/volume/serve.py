# SPDX-License-Identifier: Apache-2.0
"""From the documents on the pool to what hosts can connect: what millrace-volumes.service does, and what it shows."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network, collapse_addresses, ip_network
from pathlib import Path

from millrace.serve.config import store as state
from millrace.serve.share.networks import nfs_networks
from millrace.serve.share.server import ShareServer, this_server
from millrace.serve.volume import carrier, target
from millrace.serve.volume.carrier import Xfs
from millrace.serve.volume.configfs import Configfs, Nvmet
from millrace.serve.volume.connected import connected
from millrace.serve.volume.enforced import asks_for_secrets
from millrace.serve.volume.model import Exports, Volume, VolumeExport, VolumeList, VolumeRow
from millrace.serve.volume.store import Store
from millrace.serve.volume.target import DesiredTarget, Subsystem
from millrace.system import paths
from millrace.system.documents import write_model
from millrace.system.errors import MillraceError
from millrace.system.files import write_text
from millrace.system.names import several
from millrace.system.net import for_clients
from millrace.system.run import Runner, last_words, must
from millrace.system.text import size
from millrace.system.units import is_active

UNIT = "millrace-volumes.service"
CLOSED = "volumes are closed until a client network is confirmed: millrace share networks list"
UNENFORCED = (
    "the kernel does not ask hosts for their secret (module nvmet of Debian): install an image that was built without "
    "--stock-modules, or export the volume to a host without a secret"
)
_SETS = ("volume_ports", "volume_hosts4", "volume_hosts6")
_FLUSH = "".join(f"flush set inet millrace {one}\n" for one in _SETS)


@dataclass(frozen=True)
class Volumes:
    """The volumes of this server, and what only its kernel has."""

    server: ShareServer
    tree: Configfs = field(default_factory=Nvmet)
    xfs: Xfs = carrier.XFS
    asks: Callable[[], bool] = asks_for_secrets

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
        """Return what nvmet should serve, on the addresses of all ports but those of management.

        No volume of a host with a secret, where the kernel does not ask for it.
        """
        ports = for_clients(self.server.ports, state.load().management)
        addresses = [one.ip for port in ports for one in port.addresses]
        left = {uuid: export for uuid, export in exports.volumes.items() if not self.unenforced(export, exports)}
        return target.wanted(self._all(), exports.model_copy(update={"volumes": left}), addresses)

    def unenforced(self, export: VolumeExport, exports: Exports) -> bool:
        """Whether a host of this export has a secret that the kernel would not ask for."""
        return any(host in exports.secrets for host in export.hosts) and not self.asks()

    def _all(self) -> dict[str, tuple[Volume, str]]:
        store = self.store
        served = {name: one for name, one in store.all().items() if not store.leads_elsewhere(name)}
        return {name: (one, str(store.data(name))) for name, one in served.items()}


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
        if volumes.store.leads_elsewhere(name):
            problems.append(f"volume {name} is not served: {path} is no file in its place; examine it")
            continue
        try:
            whole = carrier.size(path)
            if carrier.allocated(path) < whole:
                with carrier.opened(path) as descriptor:
                    volumes.xfs.allocate(descriptor, 0, whole)
        except OSError as error:
            problems.append(f"volume {name} has {_allocated(path)}: {error.strerror or error}")
    return problems


def firewall(exports: Exports, networks: Sequence[str]) -> str:
    """Return the rules that let hosts reach the ports of their volumes, over TCP, from inside the client networks."""
    exported = sorted(
        (export for export in exports.volumes.values() if export.transport == "tcp"), key=lambda export: export.port
    )
    text = "# SPDX-License-Identifier: Apache-2.0\n# Written by millrace-volumes.service.\n" + _FLUSH
    if exported:
        text += _elements("volume_ports", [str(export.port) for export in exported])
    for version in (4, 6):
        pairs = [
            f"{network} . {export.port}"
            for export in exported
            for network in _collapsed(export.addresses or networks, version)
            if within(str(network), networks)
        ]
        if pairs:
            text += _elements(f"volume_hosts{version}", pairs)
    return text


def within(address: str, networks: Iterable[str]) -> bool:
    """Whether an address or a network is inside one of `networks`."""
    inner = ip_network(address)
    outer = [found for found in map(ip_network, networks) if found.version == inner.version]
    return any(inner.subnet_of(found) for found in outer)  # type: ignore[arg-type]


def _collapsed(networks: Iterable[str], version: int) -> list[IPv4Network | IPv6Network]:
    """Networks that do not overlap: a set of the firewall refuses others."""
    named = [network for network in networks if ip_network(network).version == version]
    return [
        *(collapse_addresses(map(IPv4Network, named)) if version == 4 else collapse_addresses(map(IPv6Network, named)))
    ]


def _elements(name: str, elements: Sequence[str]) -> str:
    return f"add element inet millrace {name} {{ {', '.join(elements)} }}\n"


def rows(volumes: Volumes) -> list[VolumeRow]:
    """Return every volume as it is now. BadInput: a document on the pool cannot be read."""
    exports = volumes.store.exports()
    served = {one.nqn: one for one in volumes.goal(exports).subsystems}
    return [_row(name, one, served.get(one.nqn), exports, volumes) for name, one in volumes.store.all().items()]


def record(volumes: Volumes) -> None:
    """Write how volumes are to /run/millrace/volumes.json, for health: it does not open the pool."""
    found = rows(volumes)
    if found:
        # who may connect and from where is nothing for a console user
        write_model(paths.volumes_file(), VolumeList(volumes=found), 0o600)
    else:
        paths.volumes_file().unlink(missing_ok=True)


def _row(name: str, volume: Volume, served: Subsystem | None, exports: Exports, volumes: Volumes) -> VolumeRow:
    path, export = volumes.store.data(name), exports.volumes.get(volume.uuid)
    problem, hosts = None, []
    if export is not None and volumes.unenforced(export, exports):
        problem = UNENFORCED
    elif served is not None and export is not None:
        problem = target.missing(served, volumes.tree) or _closed(export, volumes.networks())
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


def _closed(export: VolumeExport, networks: Sequence[str]) -> str | None:
    """Why hosts cannot connect although the volume is served, in words; also after the client networks were changed."""
    if not networks:
        return CLOSED
    outside = [address for address in export.addresses if not within(address, networks)]
    if outside and export.transport == "tcp":
        return f"hosts at {several(outside)} cannot connect, in no client network: millrace share networks list"
    return None


def _connect(nqn: str, export: VolumeExport, addresses: Sequence[str], authenticated: bool) -> list[str]:
    secret = " --dhchap-secret=…" if authenticated else ""
    where = f"-s {export.port} -n {nqn}{secret}"
    return [f"nvme connect -t {export.transport} -a {address} {where}" for address in addresses]


def _allocated(path: Path) -> str:
    try:
        return f"{size(carrier.allocated(path))} of its {size(carrier.size(path))} allocated"
    except OSError:
        return "no data"
