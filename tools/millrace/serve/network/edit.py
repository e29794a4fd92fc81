# SPDX-License-Identifier: Apache-2.0
"""Give a port fixed addresses, or return it to DHCP; keep it for management."""

import time
from collections.abc import Callable, Sequence
from ipaddress import ip_interface

from millrace.serve.config import store
from millrace.serve.config.model import Config, DesiredPort
from millrace.serve.network.addressing import AddressChange
from millrace.serve.network.links import PortLink, links, with_wanted
from millrace.serve.network.model import PortReport
from millrace.serve.network.served import ListenerChange
from millrace.serve.render.reconcile import Reconciliation
from millrace.serve.share.networks import on_management
from millrace.serve.share.server import ShareServer, this_server
from millrace.system import paths
from millrace.system.documents import checked
from millrace.system.errors import BadInput, Refused
from millrace.system.names import several
from millrace.system.net import Interface
from millrace.system.run import Runner, attempt
from millrace.system.users import invoking_user, only_root

DEFAULT = "default"


def set_port(
    name: str,
    addresses: Sequence[str],
    gateway: str | None,
    dhcp: bool,
    management: bool | None = None,
    run: Runner = attempt,
    pause: Callable[[float], None] = time.sleep,
    server: Callable[[], ShareServer] = this_server,
) -> PortReport:
    """Give a port these fixed addresses (CIDR) and no others; kept only where they come up and are served.

    No address leaves them as they are, `default` returns the port to DHCP. `management` limits it to the web console.
    BadInput: the options contradict each other, or there is no such port. Refused: another port has an address, the
    port is part of a bond, or client networks include a management port.
    """
    only_root()
    if not addresses and (gateway or dhcp):
        raise BadInput("--gateway and --dhcp go with the fixed addresses: give them with --address")
    if not addresses and management is None:
        raise BadInput("nothing to change: give --address, --management or --no-management")
    link = _existing(name, run)
    back = list(addresses) == [DEFAULT]
    if back and (gateway or dhcp):
        raise BadInput("--address default gives the port back to DHCP: leave --gateway and --dhcp out")

    def mutate(config: Config) -> Config:
        config = _with_management(config, link, management)
        if not addresses:
            return config
        others = [port for port in config.ports if port.mac != link.mac]
        if back:
            return config.model_copy(update={"ports": others})
        port = checked(
            lambda: DesiredPort(mac=link.mac, name=name, addresses=list(addresses), gateway=gateway, dhcp=dhcp)
        )
        _refuse_taken(port, links(run))
        return config.model_copy(update={"ports": [*others, port]})

    # Without a pool nothing is served yet.
    serving = [ListenerChange(server, link.mac)] if paths.pool_file().exists() else []
    done = Reconciliation([AddressChange(run, pause), *serving])
    flag = [] if management is None else ["management" if management else "no management"]
    what = f"port set {name}: {several([*addresses, *flag])}"
    config = store.change(invoking_user(), what, mutate, done)
    now = next(port for port in with_wanted(links(run), config) if port.mac == link.mac)
    return PortReport(serial=config.serial, port=now, verified=done.verified, warnings=done.warnings)


def _with_management(config: Config, link: PortLink, management: bool | None) -> Config:
    """Refused where clients of a confirmed network would be on the port."""
    if management is None:
        return config
    others = [mac for mac in config.management if mac != link.mac]
    after = [*others, link.mac] if management else others
    if management:
        port = Interface(link.name, [ip_interface(address) for address in link.addresses], link.carrier, None, link.mac)
        shared = on_management(config.nfs.networks, [port], after)
        if shared:
            raise Refused(f"the client network {shared}: confirm others first, millrace share networks set NETWORK…")
    return config.model_copy(update={"management": after})


def _existing(name: str, run: Runner) -> PortLink:
    found = links(run)
    link = next((one for one in found if one.name == name), None)
    if link is None:
        raise BadInput(f"there is no Ethernet port {name[:40]!r}: there is {', '.join(one.name for one in found)}")
    if link.part_of:
        raise Refused(f"{name} is part of {link.part_of}, which has the addresses")
    return link


def _refuse_taken(port: DesiredPort, found: Sequence[PortLink]) -> None:
    wanted = {one.partition("/")[0] for one in port.addresses}
    for link in found:
        taken = sorted(wanted & {one.partition("/")[0] for one in link.addresses}) if link.mac != port.mac else []
        if taken:
            raise Refused(f"{several(taken)} is an address of {link.name}: remove it there first")
