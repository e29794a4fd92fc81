# SPDX-License-Identifier: Apache-2.0
"""What this client shows of its mounts, modules and devices: /proc, /sys, a few tools and one connection."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import socket
import struct
import subprocess
import threading
import time
from typing import NamedTuple

ANSWER_WAIT = 60.0  # seconds until a server that does not answer is called so
TOOL_WAIT = 60.0  # seconds for a tool
TCP_INFO_PMTU, TCP_INFO_RTT = 60, 68  # offsets into struct tcp_info, linux/tcp.h

HEADER = re.compile(r"device (?P<source>.+) mounted on (?P<where>\S+) with fstype (?P<fstype>\S+)")
SESSION = re.compile(r"\t\d+\) (?:Address|Name): (?P<address>\S+)")
SHARE = re.compile(r"\t\d+\) (?P<tree>\\\\.+?) Mounts: \d+")
CHANNEL = re.compile(r"\s*Channel: \d+ ConnectionId")


class Mount(NamedTuple):
    """A mounted file system as the kernel describes it."""

    source: str
    where: str
    fstype: str
    options: dict[str, str]


class Transport(NamedTuple):
    """One connection of an NFS mount: an xprt line of mountstats."""

    proto: str
    connects: int


class Session(NamedTuple):
    """One SMB session of DebugData."""

    address: str
    trees: list[str]
    encrypted: bool
    channels: int


class Route(NamedTuple):
    """The way to the server: bytes, Mbit/s, microseconds; None is unknown."""

    interface: str
    mtu: int | None
    speed: int | None
    path_mtu: int | None
    round_trip: int | None


def parse_options(text: str) -> dict[str, str]:
    """Parse mount options; those without a value have an empty one."""
    return {key: value for key, _, value in (one.partition("=") for one in text.split(",") if one)}


def unescape(text: str) -> str:
    """Return a field of /proc/mounts, where blanks are octal."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match.group(1), 8)), text)


def parse_certificates(text: str) -> set[str]:
    """Return the SHA-256 of each certificate of a PEM file, as browsers show it."""
    found = set()
    for body in re.findall("-----BEGIN CERTIFICATE-----(.*?)-----END CERTIFICATE-----", text, re.DOTALL):
        try:
            digest = hashlib.sha256(base64.b64decode(body)).hexdigest().upper()
        except ValueError:
            continue
        found.add(":".join(digest[at : at + 2] for at in range(0, len(digest), 2)))
    return found


def parse_mounts(text: str) -> list[Mount]:
    """Parse /proc/self/mounts."""
    fields = (line.split() for line in text.splitlines())
    return [Mount(unescape(one[0]), unescape(one[1]), one[2], parse_options(one[3])) for one in fields if len(one) > 3]


def parse_mountstats(text: str, where: str) -> tuple[dict[str, str], list[Transport]]:
    """Return options and connections of the NFS mount on `where` in /proc/self/mountstats; the last one is on top."""
    options: dict[str, str] = {}
    transports: list[Transport] = []
    here = False
    for line in text.splitlines():
        header = HEADER.match(line)
        if header:
            here = unescape(header.group("where")) == where and header.group("fstype").startswith("nfs")
            if here:
                options, transports = {}, []
        elif here and line.startswith("\topts:"):
            options = parse_options(line.split(None, 1)[1])
        elif here and line.startswith("\txprt:"):
            fields = line.split()
            transports.append(Transport(fields[1], int(fields[4])))
    return options, transports


def parse_debug_data(text: str) -> list[Session]:
    """Return the sessions of /proc/fs/cifs/DebugData with their established connections."""
    sessions: list[Session] = []
    part = ""
    for line in text.splitlines():
        begin = SESSION.match(line)
        if begin:
            sessions.append(Session(begin.group("address"), [], False, 1))
            part = "channels"
        elif line.startswith(("\tShares:", "\tServer interfaces:", "\tMIDs:")):
            part = line.strip().split(":")[0]
        if sessions and part == "channels":
            # A channel that is down is said so at the end of its block.
            change = (1 if CHANNEL.match(line) else 0) - line.count("DISCONNECTED")
            sessions[-1] = sessions[-1]._replace(channels=sessions[-1].channels + change)
        tree = SHARE.match(line)
        if sessions and part == "Shares" and tree:
            sessions[-1].trees.append(tree.group("tree"))
        # Of the session where the client asked, of the tree where the server demands it for this share.
        if sessions and ((part == "channels" and " encrypted" in line) or (part == "Shares" and " Encrypted" in line)):
            sessions[-1] = sessions[-1]._replace(encrypted=True)
    return sessions


def parse_tcp_info(data: bytes) -> tuple[int | None, int | None]:
    """Return MTU of the path in bytes and round trip in microseconds of a connection."""
    if len(data) < TCP_INFO_RTT + 4:
        return None, None
    return struct.unpack_from("=I", data, TCP_INFO_PMTU)[0], struct.unpack_from("=I", data, TCP_INFO_RTT)[0]


class System:
    """This client; `root` is another in tests."""

    def __init__(self, root: str = "/") -> None:
        self.root = root

    def read(self, path: str) -> str | None:
        """Return a file of /proc or /sys; None where there is none or it cannot be read."""
        try:
            with open(os.path.join(self.root, path), encoding="utf-8", errors="replace") as file:
                return file.read()
        except OSError:
            return None

    def number(self, path: str) -> int | None:
        """Return the number that a file holds; None where there is none."""
        text = (self.read(path) or "").strip()
        return int(text) if text.lstrip("-").isdigit() else None

    def touch(self, where: str, times: int) -> bool:
        """Ask the server `times` times, which mounts what mounts itself and wakes every connection."""
        # A hard mount waits for a dead server for ever: a thread can be left behind.
        asking = threading.Thread(target=_ask, args=(where, times), daemon=True)
        asking.start()
        asking.join(ANSWER_WAIT)
        return not asking.is_alive()

    def lane_addresses(self, address: str) -> set[str]:
        """Return server addresses that share a session with `address`; none before Linux 5.14, which has no list."""
        base = os.path.join(self.root, "sys/kernel/sunrpc/xprt-switches")
        for switch in _listed(base):
            addresses = {
                (self.read(os.path.join(base, switch, transport, "dstaddr")) or "").strip()
                for transport in _listed(os.path.join(base, switch))
                if transport.startswith("xprt-")
            }
            if address in addresses and len(addresses) > 1:
                return addresses
        return set()

    def route(self, address: str, port: int) -> Route:
        """Return the route to the server."""
        path_mtu, round_trip = _measure(address, port)
        interface = _route(address)
        directory = "sys/class/net/" + interface
        speed = self.number(directory + "/speed") if interface else None
        mtu = self.number(directory + "/mtu") if interface else None
        return Route(interface, mtu, speed if speed and speed > 0 else None, path_mtu, round_trip)

    def listed(self, path: str) -> list[str]:
        """Return the names in a directory; none where it cannot be read."""
        return _listed(os.path.join(self.root, path))

    def exists(self, path: str) -> bool:
        """Whether there is such a file or directory."""
        return os.path.exists(os.path.join(self.root, path))

    def real(self, path: str) -> str:
        """Return where a link leads to, below the root."""
        return os.path.relpath(os.path.realpath(os.path.join(self.root, path)), os.path.realpath(self.root))

    def run(self, argv: list[str]) -> str | None:
        """Return what a tool prints; None where it is not here, fails or takes too long."""
        try:
            tool = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            printed = tool.communicate(timeout=TOOL_WAIT)[0]
        except subprocess.TimeoutExpired:
            # it is not waited for: a read from a dead server does not end
            tool.kill()
            return None
        except OSError:
            return None
        return printed.decode("utf-8", "replace") if tool.returncode == 0 else None

    def addresses(self) -> set[str]:
        """Return the addresses of this client; none where `ip` cannot be asked."""
        try:
            ports = json.loads(self.run(["ip", "-j", "address", "show"]) or "[]")
            return {str(each["local"]) for port in ports for each in port.get("addr_info", []) if "local" in each}
        except (ValueError, AttributeError, TypeError):
            return set()

    def readable(self, where: str, least: int, most: int) -> tuple[str, int] | None:
        """Return the largest file of `least` bytes or more among the first `most` entries below a directory."""
        seen = 0
        best: tuple[str, int] | None = None
        for directory, _, files in os.walk(where):
            for name in sorted(files):
                path = os.path.join(directory, name)
                try:
                    size = os.stat(path).st_size if not os.path.islink(path) and os.access(path, os.R_OK) else 0
                except OSError:
                    size = 0
                if size >= max(least, best[1] + 1 if best else 0):
                    best = path, size
            seen += len(files) + 1
            if seen >= most:
                break
        return best

    def wait(self, seconds: float) -> None:
        """Give the kernel time."""
        time.sleep(seconds)


def _ask(where: str, times: int) -> None:
    for _ in range(times):
        try:
            os.statvfs(where)
        except OSError:
            return


def _listed(directory: str) -> list[str]:
    try:
        return sorted(os.listdir(directory))
    except OSError:
        return []


def _measure(address: str, port: int) -> tuple[int | None, int | None]:
    try:
        with socket.create_connection((address, port), timeout=5) as connection:
            return parse_tcp_info(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104))
    except OSError:
        return None, None


def _route(address: str) -> str:
    try:
        command = ["ip", "-j", "route", "get", address]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=10, check=True)
        return str(json.loads(done.stdout)[0]["dev"])
    except (OSError, ValueError, KeyError, IndexError, subprocess.SubprocessError):
        return ""
