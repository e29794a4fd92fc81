# SPDX-License-Identifier: Apache-2.0
"""What nvmet serves: compared with what it should serve, and changed where it differs, whatever a kill left half built.

The tree belongs to Millrace: what is in it and is not wanted is removed. Nothing is taken from a connected host that it
keeps: a volume whose export is as it was is not touched.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from ipaddress import IPv4Address, IPv6Address

from millrace.serve.volume.configfs import Configfs
from millrace.serve.volume.model import NSID, Exports, Volume
from millrace.system.nvme import Transport

Address = IPv4Address | IPv6Address
MODEL = "Millrace volume"


@dataclass(frozen=True)
class Listener:
    """One port of nvmet: an address on which one volume is served."""

    transport: Transport
    address: Address
    port: int

    @property
    def attributes(self) -> dict[str, str]:
        """Its attributes in configfs, in the order in which they are written."""
        return {
            "addr_trtype": self.transport,
            "addr_adrfam": f"ipv{self.address.version}",
            "addr_traddr": str(self.address),
            "addr_trsvcid": str(self.port),
        }


@dataclass(frozen=True)
class Subsystem:
    """One volume as nvmet serves it: one subsystem with one namespace, for the hosts that are named.

    ANA is not used: a volume has one group, which nvmet makes itself and which is optimized on every port.
    """

    nqn: str
    serial: str
    uuid: str
    path: str
    hosts: Sequence[str]
    shared: bool
    listeners: Sequence[Listener]

    @property
    def attributes(self) -> dict[str, str]:
        """The attributes of the subsystem."""
        return {"attr_allow_any_host": "0", "attr_serial": self.serial, "attr_model": MODEL}

    @property
    def namespace(self) -> dict[str, str]:
        """The attributes of the namespace, which can be set while it is disabled only.

        buffered_io 0: the data of hosts does not pass through the page cache, and a write that has ended is with the
        array. A flush is fsync of the file and FUA is O_DSYNC: both end when the array has flushed.
        """
        return {
            "device_path": self.path,
            "device_uuid": self.uuid,
            "device_nguid": self.uuid,
            "buffered_io": "0",
            "resv_enable": "1" if self.shared else "0",
        }


@dataclass(frozen=True)
class DesiredTarget:
    """All that nvmet should serve."""

    subsystems: Sequence[Subsystem] = ()
    secrets: Mapping[str, str] = field(default_factory=dict)


def wanted(volumes: Mapping[str, tuple[Volume, str]], exports: Exports, addresses: Iterable[Address]) -> DesiredTarget:
    """Return what should be served: `volumes` are those that exist by name, each with the path of its data."""
    everywhere = list(addresses)
    subsystems = []
    for volume, path in volumes.values():
        export = exports.volumes.get(volume.uuid)
        if export is not None:
            listeners = [Listener(export.transport, address, export.port) for address in everywhere]
            serial = volume.uuid.hex[:20]
            hosts = list(export.hosts)
            subsystems.append(Subsystem(volume.nqn, serial, str(volume.uuid), path, hosts, export.shared, listeners))
    return DesiredTarget(subsystems, exports.secrets)


def apply(goal: DesiredTarget, tree: Configfs) -> list[str]:
    """Serve `goal` and nothing else; return what the kernel refused, in words. Idempotent."""
    problems: list[str] = []
    by_nqn = {subsystem.nqn: subsystem for subsystem in goal.subsystems}
    for nqn in tree.names("subsystems"):
        subsystem = by_nqn.get(nqn)
        if subsystem is None:
            _attempt(problems, f"subsystem {nqn} is not removed", partial(_remove_subsystem, nqn, tree))
        elif not set(_hosts(nqn, tree)) <= set(subsystem.hosts) or not _is_served(subsystem, tree):
            # The kernel lets a host that is no longer allowed stay connected until the links to its ports are gone.
            _attempt(problems, f"volume {subsystem.uuid} is not closed", partial(_close, nqn, tree))
    _remove_listeners(goal, tree, problems)
    for subsystem in goal.subsystems:
        _attempt(problems, f"volume {subsystem.uuid} is not exported", partial(_serve, subsystem, goal.secrets, tree))
        for listener in subsystem.listeners:
            where = f"volume {subsystem.uuid} does not listen on {listener.address} port {listener.port}"
            _attempt(problems, where, partial(_listen, subsystem, listener, tree))
    # last: until then a volume may allow it
    named = {host for subsystem in goal.subsystems for host in subsystem.hosts}
    for host in tree.names("hosts"):
        if host not in named:
            _attempt(problems, f"host {host} is not removed", partial(tree.remove, f"hosts/{host}"))
    return problems


def missing(goal: Subsystem, tree: Configfs) -> str | None:
    """Return why a volume is not served as it should be, in words; None where it is."""
    if not _is_served(goal, tree):
        return "it is not exported"
    if set(_hosts(goal.nqn, tree)) != set(goal.hosts):
        return "its allowed hosts are not those of its export"
    ports = [port for port in tree.names("ports") if goal.nqn in tree.names(f"ports/{port}/subsystems")]
    if not ports:
        return "it listens on no address"
    return None


def addresses(goal: Subsystem, tree: Configfs) -> list[str]:
    """Return the addresses on which a volume is served."""
    found = []
    for port in tree.names("ports"):
        if goal.nqn in tree.names(f"ports/{port}/subsystems"):
            found.append(tree.read(f"ports/{port}/addr_traddr") or "")
    return sorted(filter(None, found))


def _attempt(problems: list[str], what: str, step: Callable[[], object]) -> None:
    try:
        step()
    except OSError as error:
        problems.append(f"{what}: {error.strerror or error}")


def _is_served(one: Subsystem, tree: Configfs) -> bool:
    """Whether the namespace of a volume is enabled with all that identifies it."""
    place = f"subsystems/{one.nqn}/namespaces/{NSID}"
    there = {**one.namespace, "enable": "1"}
    alone = tree.names(f"subsystems/{one.nqn}/namespaces") == [str(NSID)]
    return alone and all(tree.read(f"{place}/{name}") == value for name, value in there.items())


def _hosts(nqn: str, tree: Configfs) -> list[str]:
    return tree.names(f"subsystems/{nqn}/allowed_hosts")


def _close(nqn: str, tree: Configfs) -> None:
    for port in tree.names("ports"):
        if nqn in tree.names(f"ports/{port}/subsystems"):
            tree.unlink(f"ports/{port}/subsystems/{nqn}")


def _remove_namespace(nqn: str, number: str, tree: Configfs) -> None:
    place = f"subsystems/{nqn}/namespaces/{number}"
    if tree.read(f"{place}/enable") == "1":
        tree.write(f"{place}/enable", "0")
    tree.remove(place)


def _remove_subsystem(nqn: str, tree: Configfs) -> None:
    _close(nqn, tree)
    for host in _hosts(nqn, tree):
        tree.unlink(f"subsystems/{nqn}/allowed_hosts/{host}")
    for number in tree.names(f"subsystems/{nqn}/namespaces"):
        _remove_namespace(nqn, number, tree)
    tree.remove(f"subsystems/{nqn}")


def _remove_listeners(goal: DesiredTarget, tree: Configfs, problems: list[str]) -> None:
    """Remove ports on which nothing is to be served: of addresses that are gone, and half built ones."""
    kept = {(one.nqn, _key(listener.attributes)) for one in goal.subsystems for listener in one.listeners}
    for port in tree.names("ports"):
        linked = tree.names(f"ports/{port}/subsystems")
        own = _key(_attributes(port, tree))
        if linked and all((nqn, own) in kept for nqn in linked):
            continue
        _attempt(problems, f"port {port} is not removed", partial(_remove_port, port, tree))


def _remove_port(port: str, tree: Configfs) -> None:
    for nqn in tree.names(f"ports/{port}/subsystems"):
        tree.unlink(f"ports/{port}/subsystems/{nqn}")
    tree.remove(f"ports/{port}")


def _attributes(port: str, tree: Configfs) -> dict[str, str]:
    names = ("addr_trtype", "addr_adrfam", "addr_traddr", "addr_trsvcid")
    return {name: tree.read(f"ports/{port}/{name}") or "" for name in names}


def _key(attributes: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(attributes.values())


def _serve(subsystem: Subsystem, secrets: Mapping[str, str], tree: Configfs) -> None:
    """Create the subsystem with its namespace, and let its hosts in. The listeners come last."""
    place = f"subsystems/{subsystem.nqn}"
    if subsystem.nqn not in tree.names("subsystems"):
        tree.make(place)
    for name, value in subsystem.attributes.items():
        if tree.read(f"{place}/{name}") != value:
            tree.write(f"{place}/{name}", value)
    if not _is_served(subsystem, tree):
        for number in tree.names(f"{place}/namespaces"):
            _remove_namespace(subsystem.nqn, number, tree)
        namespace = f"{place}/namespaces/{NSID}"
        tree.make(namespace)
        for name, value in subsystem.namespace.items():
            tree.write(f"{namespace}/{name}", value)
        tree.write(f"{namespace}/enable", "1")
    else:
        # what has grown is reported to the hosts
        tree.write(f"{place}/namespaces/{NSID}/revalidate_size", "1")
    _let_in(subsystem, secrets, tree)


def _let_in(subsystem: Subsystem, secrets: Mapping[str, str], tree: Configfs) -> None:
    for host in subsystem.hosts:
        if host not in tree.names("hosts"):
            tree.make(f"hosts/{host}")
        secret = secrets.get(host)
        # before it is allowed: without its secret it would not have to authenticate
        if secret is not None and tree.read(f"hosts/{host}/dhchap_key") != secret:
            tree.write(f"hosts/{host}/dhchap_key", secret)
    allowed = _hosts(subsystem.nqn, tree)
    for host in subsystem.hosts:
        if host not in allowed:
            tree.link(f"subsystems/{subsystem.nqn}/allowed_hosts/{host}", f"hosts/{host}")
    for host in allowed:
        if host not in subsystem.hosts:
            tree.unlink(f"subsystems/{subsystem.nqn}/allowed_hosts/{host}")


def _listen(subsystem: Subsystem, listener: Listener, tree: Configfs) -> None:
    ports = tree.names("ports")
    for port in ports:
        if _attributes(port, tree) == listener.attributes:
            if subsystem.nqn not in tree.names(f"ports/{port}/subsystems"):
                tree.link(f"ports/{port}/subsystems/{subsystem.nqn}", f"subsystems/{subsystem.nqn}")
            return
    if not _is_served(subsystem, tree):
        return
    number = next(str(each) for each in range(1, 1 << 16) if str(each) not in ports)
    tree.make(f"ports/{number}")
    for name, value in listener.attributes.items():
        tree.write(f"ports/{number}/{name}", value)
    tree.link(f"ports/{number}/subsystems/{subsystem.nqn}", f"subsystems/{subsystem.nqn}")
