# SPDX-License-Identifier: Apache-2.0
"""What may be in a name, a comment or a client of NFS. Each refusal is one sentence.

Everything here is written to files that other programs parse: what passes needs no quoting in exports(5) or
smb.conf(5).
"""

import re
from collections.abc import Sequence
from ipaddress import ip_address, ip_interface, ip_network

from millrace.system.rule import PRINTABLE, Check, Rule
from millrace.system.text import shown

# Section names with a meaning of their own in smb.conf, and what Windows expects to be administrative.
RESERVED_SHARES = frozenset({"global", "homes", "printers", "ipc", "admin", "print", "netlogon", "sysvol", "profiles"})

LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_HOST = rf"(?=.{{1,253}}$){LABEL}(?:\.{LABEL})*"
_COLLECTOR = re.compile(r"(?P<scheme>https?)://(?:\[(?P<v6>[^\]]+)\]|(?P<host>[^:/\[\]]+))(?::(?P<port>[0-9]{1,5}))?/?")
# Where systemd-journal-remote(8) listens.
COLLECTOR_PORT = 19532
_COMMENT_LENGTH = 200
# Two halves of all addresses would be every client, too.
SHORTEST = {4: 8, 6: 16}
SPOKEN = 4

share_name = Rule(
    Check(
        "[a-z0-9][a-z0-9_-]{0,63}",
        "$0 cannot be the name of a share: use 1 to 64 of a-z, 0-9, - and _, first a letter or a digit",
    ),
    Check(
        rf"(?!(?:{'|'.join(sorted(RESERVED_SHARES))})$).*",
        "$0 cannot be the name of a share: it means something else to SMB",
    ),
)
snapshot_name = Rule(
    Check(
        "[0-9]{8}T[0-9]{6}Z-(?:manual|hourly|daily|weekly|monthly|before-rollback|backup|restored)",
        "$0 is not the name of a snapshot, such as 20261129T120000Z-manual: millrace snapshot list",
    )
)
account_name = Rule(
    Check(
        "[a-z][a-z0-9_-]{0,30}",
        "$0 cannot be the name of a user or group: use 1 to 31 of a-z, 0-9, - and _, first a letter",
    )
)
_ONE_LINE = "a comment is one line of printable characters without blanks at its ends"
comment = Rule(
    Check(f".{{0,{_COMMENT_LENGTH}}}", f"a comment has at most {_COMMENT_LENGTH} characters, this one has $1"),
    Check(PRINTABLE, _ONE_LINE),
    Check("(?! ).*(?<! )", _ONE_LINE),
    # smb.conf: a backslash at the end swallows the next line, % begins a substitution. Commas and quotes are fine.
    Check(r"[^\\%]*", "a comment cannot hold a backslash or a percent sign: Samba would read them as commands"),
)
# passwd(5) has it between colons, finger's fields end at commas
_FULL_NAME = "a full name has at most 80 printable characters, without colons and commas"
full_name = Rule(Check(".{0,80}", _FULL_NAME), Check(PRINTABLE, _FULL_NAME), Check("[^:,]*", _FULL_NAME))
host_name = Rule(Check(_HOST, "$0 is not a host name: use letters, digits, - and dots"))
interface = Rule(Check("[A-Za-z0-9][A-Za-z0-9._-]{0,14}", "$0 is not the name of a port: millrace network show"))
mac = Rule(Check("[0-9a-f]{2}(?::[0-9a-f]{2}){5}", "$0 is not a hardware address: write it like 52:54:00:12:34:56"))

_ADDRESS = Check(r"[0-9.]+|[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*", "$0 is not an address: write it like 10.0.0.1")
_NETWORK = Check(r"[0-9A-Fa-f:.]+(?:/[0-9.]+)?|\*", "$0 is not a network: write it like 10.0.0.0/24 or fd00:1::/64")
_CLIENT_NAME = Check(
    # All digits at the end would be an address that is none.
    rf"(?!(?:.*\.)?[0-9]+$){_HOST}",
    "$0 is not a client: give a network (10.0.0.0/24), an address, a host name or an @netgroup, "
    "and the options apart from it",
)


def _network(text: str) -> str:
    if text == "*":
        raise ValueError(f"{shown(text)} is everybody: name the networks of your clients")
    try:
        subnet = ip_network(text)
    except ValueError as error:
        raise ValueError(_network_problem(text)) from error
    if subnet.prefixlen == 0:
        raise ValueError(f"{shown(text)} is everybody: name the networks of your clients")
    if subnet.prefixlen < SHORTEST[subnet.version]:
        raise ValueError(f"{shown(text)} is too large: a client network is /{SHORTEST[subnet.version]} or longer")
    return str(subnet)


def _network_problem(text: str) -> str:
    try:
        loose = ip_network(text, strict=False)
    except ValueError:
        return _NETWORK.sentence_for(text)
    return f"{shown(text)} is an address inside a network: did you mean {loose}?"


def _host_address(text: str) -> str:
    try:
        return str(ip_address(text))
    except ValueError as error:
        raise ValueError(_ADDRESS.sentence_for(text)) from error


def server_address(text: str) -> str:
    """Return the address of another server in one spelling. ValueError: it is none."""
    found = ip_address(_host_address(text))
    if found.is_unspecified or found.is_loopback or found.is_multicast or found.is_link_local:
        raise ValueError(f"{shown(text)} is not the address of another server: write it like 10.0.0.7 or fd00:1::7")
    return str(found)


def _client(text: str) -> str:
    if is_network(text) or text == "*":
        return network(text)
    if text.startswith("@"):
        return text
    try:
        return str(ip_address(text))
    except ValueError:
        return Rule(_CLIENT_NAME)(text).lower()


# A network in CIDR form as exports(5) writes it, at least /8 (IPv4) or /16 (IPv6) long.
network = Rule(_NETWORK, then=_network)
host_address = Rule(_ADDRESS, then=_host_address)
# A client of NFS: a network, an address, a host name or an @netgroup.
client = Rule(
    Check(rf"[^/]*|{_NETWORK.pattern}", _NETWORK.sentence),
    Check(r"[^@].*|@[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}|", "$0 is not the name of a netgroup"),
    Check(rf"@.*|.*/.*|\*|{_ADDRESS.pattern}|{_CLIENT_NAME.pattern}", _CLIENT_NAME.sentence),
    then=_client,
)


def port_address(text: str) -> str:
    """Return the address of a port with the length of its network. ValueError: it is none."""
    try:
        if "%" in text or "/" not in text:
            raise ValueError(text)
        address = ip_interface(text)
    except ValueError as error:
        raise ValueError(f"{shown(text)} is not an address of a port: write it like 10.0.0.11/24") from error
    if address.is_loopback or address.is_multicast or address.is_link_local or address.is_unspecified:
        raise ValueError(f"{shown(text)} cannot be given to a port: clients do not reach such an address")
    network = address.network
    ends = {network.network_address, network.broadcast_address} if address.version == 4 else {network.network_address}
    if network.num_addresses > 2 and address.ip in ends:
        raise ValueError(f"{shown(text)} is the network itself or its broadcast address, not a host in it")
    return str(address)


def collector(text: str) -> str:
    """Return the URL of a host that receives the journal, always with its TCP port. ValueError: it is none."""
    match = _COLLECTOR.fullmatch(text)
    port = int(match["port"] or COLLECTOR_PORT) if match else 0
    if match is None or not 0 < port < 1 << 16 or not _is_host(match["v6"], match["host"]):
        raise ValueError(
            f"{shown(text)} is not a receiver of the journal: write it like https://logs.example.com:{COLLECTOR_PORT}, "
            "or with http:// to send it unencrypted"
        )
    host = f"[{ip_address(match['v6'])}]" if match["v6"] else match["host"].lower()
    return f"{match['scheme']}://{host}:{port}"


def _is_host(v6: str | None, host: str | None) -> bool:
    try:
        if v6 is not None:
            return "%" not in v6 and ip_address(v6).version == 6
        return ip_address(host or "").version == 4
    except ValueError:
        return _CLIENT_NAME.passes(host or "")


def is_network(text: str) -> bool:
    """Whether a checked client is a network."""
    return "/" in text


def several(names: Sequence[str]) -> str:
    """Return names for a sentence: all of a few, the first and the last of many."""
    return ", ".join(names) if len(names) <= SPOKEN else f"{names[0]}, {names[1]} … {names[-1]} ({len(names)} in all)"
