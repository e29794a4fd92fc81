# SPDX-License-Identifier: Apache-2.0
"""The MTU of the path to a client: pings that no router may fragment, of the configured size, then of smaller ones."""

from collections.abc import Callable
from ipaddress import ip_address

from millrace.serve.network.links import links
from millrace.serve.network.model import PathMtu
from millrace.system import net
from millrace.system.command import command
from millrace.system.errors import BadInput, Failed
from millrace.system.names import server_address
from millrace.system.run import Runner

# Bytes before the data of a ping: IPv4 or IPv6, and ICMP.
HEADERS = {4: 28, 6: 48}
# Bytes that each path carries: RFC 791 for what a host reassembles, RFC 8200.
LEAST = {4: 576, 6: 1280}


def path_mtu(client: str, run: Runner) -> PathMtu:
    """Ping a client by its address; takes up to half a minute where the path carries less than configured.

    BadInput: it is no address. Failed: no route leads to it.
    """
    try:
        address = server_address(client)
    except ValueError as error:
        raise BadInput(str(error).replace("another server", "a client")) from error
    name = net.link_to(address, run)
    link = next((each for each in links(run) if each.name == name), None)
    if link is None or link.mtu is None:
        raise Failed(f"no link of this server leads to {address}: millrace network show")
    version = ip_address(address).version

    def passes(size: int) -> bool:
        # -M do: the DF bit. Two, since the first may wait for ARP.
        ping = ["ping", "-n", "-q", "-M", "do", "-c", "2", "-i", "0.2", "-W", "1", "-I", link.name]
        return run([*ping, "-s", str(size - HEADERS[version]), address]).status == 0

    carried = _largest(passes, LEAST[version], link.mtu)
    sentence = _words(address, link.name, link.mtu, carried)
    return PathMtu(client=address, link=link.name, configured=link.mtu, carried=carried, sentence=sentence)


def _largest(passes: Callable[[int], bool], least: int, most: int) -> int | None:
    if passes(most):
        return most
    if not passes(least):
        return None
    low, high = least, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if passes(middle) else (low, middle)
    return low


def _words(address: str, name: str, configured: int, carried: int | None) -> str:
    if carried is None:
        return f"{address} answers no ping through {name}: is it up, and does its firewall let ICMP in?"
    if carried < configured:
        lower = command("millrace network set", name, options=["--mtu", str(carried)])
        return (
            f"the path to {address} carries {carried} bytes, {name} sends {configured}: raise the MTU of the "
            f"switch and of the client, or lower that of {name}: {lower}"
        )
    return f"the path to {address} carries the {configured} bytes of {name}"
