# SPDX-License-Identifier: Apache-2.0
"""What may stand in a name, a comment or a client of NFS. Each refusal is one sentence.

Everything here ends up in files that other programs parse: what passes needs no quoting in exports(5) or smb.conf(5).
"""

import re
from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_interface, ip_network

# Section names with a meaning of their own in smb.conf, and what Windows expects to be administrative.
RESERVED_SHARES = frozenset({"global", "homes", "printers", "ipc", "admin", "print", "netlogon", "sysvol", "profiles"})

_SHARE = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_ACCOUNT = re.compile(r"[a-z][a-z0-9_-]{0,30}")
_INTERFACE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,14}")
_MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}")
_NETGROUP = re.compile(r"@[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_LABEL = "[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_HOST = re.compile(rf"(?=.{{1,253}}$){_LABEL}(\.{_LABEL})*")
_COLLECTOR = re.compile(r"(?P<scheme>https?)://(?:\[(?P<v6>[^\]]+)\]|(?P<host>[^:/\[\]]+))(?::(?P<port>[0-9]{1,5}))?/?")
# Where systemd-journal-remote(8) listens.
COLLECTOR_PORT = 19532
COMMENT_LENGTH = 200
SPOKEN = 4
# Two halves of the world would be everybody, too.
SHORTEST = {4: 8, 6: 16}


def shown(text: str) -> str:
    """What a person typed, fit for one line of an error."""
    return f"'{text[:40].encode('unicode_escape').decode()}{'…' if len(text) > 40 else ''}'"


def several(names: Sequence[str]) -> str:
    """Names in a sentence: all of a few, the first and the last of many."""
    return ", ".join(names) if len(names) <= SPOKEN else f"{names[0]}, {names[1]} … {names[-1]} ({len(names)} in all)"


def share_name(name: str) -> str:
    """The name, or ValueError."""
    if not _SHARE.fullmatch(name):
        raise ValueError(
            f"{shown(name)} cannot be the name of a share: use 1 to 64 of a-z, 0-9, - and _, first a letter or a digit"
        )
    if name in RESERVED_SHARES:
        raise ValueError(f"{shown(name)} cannot be the name of a share: it means something else to SMB")
    return name


def account_name(name: str) -> str:
    """The name of a user or group, or ValueError."""
    if not _ACCOUNT.fullmatch(name):
        raise ValueError(
            f"{shown(name)} cannot be the name of a user or group: use 1 to 31 of a-z, 0-9, - and _, first a letter"
        )
    return name


def comment(text: str) -> str:
    """A comment that cannot end its line or be expanded, or ValueError. Commas and quotes are fine."""
    if len(text) > COMMENT_LENGTH:
        raise ValueError(f"a comment has at most {COMMENT_LENGTH} characters, this one has {len(text)}")
    if not text.isprintable() or text != text.strip():
        raise ValueError("a comment is one line of printable characters without blanks at its ends")
    # smb.conf: a backslash at the end swallows the next line, % begins a substitution.
    if "\\" in text or "%" in text:
        raise ValueError("a comment cannot hold a backslash or a percent sign: Samba would read them as commands")
    return text


def network(text: str) -> str:
    """A network in CIDR form as exports(5) writes it, or ValueError. At least /8 (IPv4) or /16 (IPv6) long."""
    if text == "*":
        raise ValueError(f"{shown(text)} is everybody: name the networks of your clients")
    try:
        found = _parsed(text)
    except ValueError as error:
        raise ValueError(_what_is_wrong(text)) from error
    if found.prefixlen == 0:
        raise ValueError(f"{shown(text)} is everybody: name the networks of your clients")
    if found.prefixlen < SHORTEST[found.version]:
        raise ValueError(f"{shown(text)} is too large: a client network is /{SHORTEST[found.version]} or longer")
    return str(found)


def interface(text: str) -> str:
    """The name of an Ethernet port, or ValueError."""
    if not _INTERFACE.fullmatch(text):
        raise ValueError(f"{shown(text)} is not the name of a port: millrace port list")
    return text


def mac(text: str) -> str:
    """The hardware address of an Ethernet port, or ValueError."""
    if not _MAC.fullmatch(text):
        raise ValueError(f"{shown(text)} is not a hardware address: write it like 52:54:00:12:34:56")
    return text


def port_address(text: str) -> str:
    """An address of a port with the length of its network, or ValueError."""
    try:
        if "%" in text or "/" not in text:
            raise ValueError(text)
        found = ip_interface(text)
    except ValueError as error:
        raise ValueError(f"{shown(text)} is not an address of a port: write it like 10.0.0.11/24") from error
    if found.is_loopback or found.is_multicast or found.is_link_local or found.is_unspecified:
        raise ValueError(f"{shown(text)} cannot be given to a port: clients do not reach such an address")
    network = found.network
    ends = {network.network_address, network.broadcast_address} if found.version == 4 else {network.network_address}
    if network.num_addresses > 2 and found.ip in ends:
        raise ValueError(f"{shown(text)} is the network itself or its broadcast address, not a host in it")
    return str(found)


def host_address(text: str) -> str:
    """One address, or ValueError."""
    try:
        if "%" in text:
            raise ValueError(text)
        return str(ip_address(text))
    except ValueError as error:
        raise ValueError(f"{shown(text)} is not an address: write it like 10.0.0.1") from error


def client(text: str) -> str:
    """A client of NFS: a network, an address, a host name or an @netgroup; or ValueError."""
    if "/" in text or text == "*":
        return network(text)
    if text.startswith("@"):
        if not _NETGROUP.fullmatch(text):
            raise ValueError(f"{shown(text)} is not the name of a netgroup")
        return text
    try:
        # Python takes anything behind the % of a scoped address, brackets and commas too.
        if "%" not in text:
            return str(ip_address(text))
    except ValueError:
        pass
    # All digits at the end would be an address that is none.
    if not _HOST.fullmatch(text) or text.rsplit(".", 1)[-1].isdigit():
        raise ValueError(
            f"{shown(text)} is not a client: give a network (10.0.0.0/24), an address, a host name or an @netgroup, "
            "and the options apart from it"
        )
    return text.lower()


def collector(text: str) -> str:
    """The URL of a host that receives the journal, always with its port (a TCP port number), or ValueError."""
    found = _COLLECTOR.fullmatch(text)
    port = int(found["port"] or COLLECTOR_PORT) if found else 0
    if found is None or not 0 < port < 1 << 16 or not _is_host(found["v6"], found["host"]):
        raise ValueError(
            f"{shown(text)} is not a receiver of the journal: write it like https://logs.example.com:{COLLECTOR_PORT}, "
            "or with http:// to send it unencrypted"
        )
    host = f"[{ip_address(found['v6'])}]" if found["v6"] else found["host"].lower()
    return f"{found['scheme']}://{host}:{port}"


def _is_host(v6: str | None, host: str | None) -> bool:
    try:
        if v6 is not None:
            return "%" not in v6 and ip_address(v6).version == 6
        return ip_address(host or "").version == 4
    except ValueError:
        # All digits at the end would be an address that is none.
        return bool(host and _HOST.fullmatch(host)) and not (host or "").rsplit(".", 1)[-1].isdigit()


def is_network(text: str) -> bool:
    """Whether a checked client is a network."""
    return "/" in text


def _parsed(text: str) -> IPv4Network | IPv6Network:
    if "%" in text or text != text.strip():
        raise ValueError(text)
    return ip_network(text)


def _what_is_wrong(text: str) -> str:
    try:
        if "%" in text:
            raise ValueError(text)
        loose = ip_network(text, strict=False)
    except ValueError:
        return f"{shown(text)} is not a network: write it like 10.0.0.0/24 or fd00:1::/64"
    return f"{shown(text)} is an address inside a network: did you mean {loose}?"
