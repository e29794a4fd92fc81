#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check a mounted Millrace share on the client: is it as the recipe says, and if not, what to do.

    millrace client expect --profile training --protocol nfs-tcp > expect.json     (on the server)
    python3 check.py /mnt/data --expect expect.json [--json]                       (here)

Exit status: 0 all is as it should be, 1 something is not, 2 wrong usage. One file, Python 3.8 or later, nothing else;
it reads /proc and /sys, asks `ip` for the route and opens one connection to the server to measure it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import socket
import struct
import subprocess
import sys
import threading
import time
from typing import Any, NamedTuple

OK, WARN, FAIL = "OK", "WARN", "FAIL"

# Of these more is better; everything else must be equal.
AT_LEAST = frozenset({"rsize", "wsize", "nconnect", "max_connect", "max_channels"})

# Of the mount and not of the file system, so that mountstats does not show them.
OF_THE_MOUNT = ("ro", "addr", "nosuid", "nodev")

# Module, parameter, least good value. Guides on the web set lower ones.
LOW_MODULE_PARAMS = (
    ("sunrpc", "tcp_max_slot_table_entries", 65536),
    ("nfs", "nfs_access_max_cachesize", 4194304),
    ("nfs", "max_session_slots", 64),
)

SLOW_LINK = 10000  # Mbit/s: below it a mount has probably taken a management port
CHANNEL_WAIT = 30.0  # seconds; further channels of SMB and lanes of NFS come after the mount
ANSWER_WAIT = 60.0  # seconds until a server that does not answer is called so
DEFAULT_SLOTS = 64
TCP_INFO_PMTU, TCP_INFO_RTT = 60, 68  # offsets into struct tcp_info, linux/tcp.h

HEADER = re.compile(r"device (?P<source>.+) mounted on (?P<where>\S+) with fstype (?P<fstype>\S+)")
SESSION = re.compile(r"\t\d+\) (?:Address|Name): (?P<address>\S+)")
SHARE = re.compile(r"\t\d+\) (?P<tree>\\\\.+?) Mounts: \d+")
CHANNEL = re.compile(r"\s*Channel: \d+ ConnectionId")


class Finding(NamedTuple):
    """One line of the report; `fix` is empty where all is well."""

    check: str
    status: str
    text: str
    fix: str = ""


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
            found = {
                (self.read(os.path.join(base, switch, one, "dstaddr")) or "").strip()
                for one in _listed(os.path.join(base, switch))
                if one.startswith("xprt-")
            }
            if address in found and len(found) > 1:
                return found
        return set()

    def route(self, address: str, port: int) -> Route:
        """Return the route to the server."""
        path_mtu, round_trip = _measure(address, port)
        interface = _route(address)
        directory = "sys/class/net/" + interface
        speed = self.number(directory + "/speed") if interface else None
        mtu = self.number(directory + "/mtu") if interface else None
        return Route(interface, mtu, speed if speed and speed > 0 else None, path_mtu, round_trip)

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


def check_mount(expect: dict[str, Any], mount: Mount | None, where: str) -> Finding:
    """Check that the share is what is mounted."""
    words = "mount it with the recipe: millrace client recipe --profile {profile} --protocol {protocol}"
    recipe = words.format(**expect)
    if mount is None:
        return Finding("mount", FAIL, f"nothing from a server is mounted on {where}", recipe)
    kind = "nfs" if mount.fstype.startswith("nfs") else mount.fstype
    if kind != expect["fstype"]:
        return Finding("mount", FAIL, f"{where} is {mount.fstype}, not {expect['fstype']}", recipe)
    named = mount.source.rsplit("/", 1)[-1] if kind == "cifs" else re.sub(r"^.*?:(?=/)", "", mount.source)
    if named != expect["source"]:
        return Finding("mount", FAIL, f"{where} is {mount.source}, not the share {expect['share']}", recipe)
    return Finding("mount", OK, f"{mount.source} on {where}")


def check_options(expect: dict[str, Any], options: dict[str, str]) -> list[Finding]:
    """Check that version, protocol, sizes and other options are those of the recipe."""
    return [_option(key, value, options) for key, value in expect["options"].items() if key != "xprtsec"]


def _option(key: str, wanted: str, options: dict[str, str]) -> Finding:
    shown = f"{key}={wanted}" if wanted else key
    found = options.get(key)
    if key == "proto" and found == wanted + "6":
        found = wanted
    more_is_better = key in AT_LEAST and found is not None and found.isdigit()
    if found == wanted or (more_is_better and int(found or 0) >= int(wanted)):
        return Finding(key, OK, f"{key}={found}" if found else key)
    here = "is not set" if found is None else f"is {found}"
    if key == "nconnect":
        fix = "an older mount of this server decided it: umount all mounts of the server, then mount this one first"
    elif key in ("rsize", "wsize"):
        fix = f"mount again with {shown}; if it stays so, the server allows no more"
    else:
        fix = f"umount, put {shown} into the options and mount again"
    return Finding(key, FAIL, f"{key} {here}, should be {wanted or 'set'}", fix)


def check_transport_security(expect: dict[str, Any], options: dict[str, str]) -> Finding:
    """Check whether the traffic is encrypted, and by what."""
    wanted, found = expect["options"].get("xprtsec"), options.get("xprtsec", "none")
    if wanted and found not in (wanted, "mtls"):
        fix = f"umount, systemctl enable --now tlshd.service, put xprtsec={wanted} into the options and mount again"
        return Finding("encryption", FAIL, f"xprtsec is {found}, should be {wanted}", fix)
    if found in ("tls", "mtls"):
        whose = "server and client show certificates" if found == "mtls" else "the server shows its certificate"
        return Finding("encryption", OK, f"TLS, {whose} (xprtsec={found})")
    if options.get("sec") == "krb5p":
        return Finding("encryption", OK, "Kerberos (sec=krb5p)")
    return Finding("encryption", OK, "none; the share does not ask for it")


def check_nfs_lanes(expect: dict[str, Any], transports: list[Transport], reached: set[str]) -> list[Finding]:
    """Check that there are as many connections as the recipe opens, all of them used."""
    up = sum(1 for one in transports if one.connects > 0)
    text = f"{up} of {expect['lanes']} connections"
    missing = [one for one in expect["lane_addresses"] if reached and one not in reached]
    if missing:
        fix = "mount the lanes of the recipe (/run/millrace/lanes) and see that these addresses answer: ping, port 2049"
        return [Finding("lanes", FAIL, f"{text}; none to {', '.join(missing)}", fix)]
    if up < expect["lanes"]:
        fix = "umount every mount of this server, then mount this one first: the first decides for all"
        if expect["lane_addresses"]:
            fix += "; then the lanes of the recipe (/run/millrace/lanes)"
        return [Finding("lanes", FAIL, text, fix)]
    return [Finding("lanes", OK, text)]


def check_smb_lanes(expect: dict[str, Any], sessions: list[Session]) -> list[Finding]:
    """Check channels and encryption of the session that carries this mount."""
    if not sessions:
        fix = "load the cifs module of a kernel that has /proc/fs/cifs and mount again"
        return [Finding("lanes", FAIL, "the kernel shows no session for this mount", fix)]
    least = min(one.channels for one in sessions)
    text = f"{least} of {expect['lanes']} channels"
    if least >= expect["lanes"]:
        found = [Finding("lanes", OK, text)]
    else:
        fix = "see `dmesg | grep CIFS`: an address that the server advertises may be out of reach from here"
        found = [Finding("lanes", FAIL, text, fix)]
    if expect["encrypted"]:
        good = all(one.encrypted for one in sessions)
        fix = "" if good else "umount, add seal to the options and mount again"
        found.append(Finding("encryption", OK if good else FAIL, "encrypted" if good else "not encrypted", fix))
    return found


def check_modules(expect: dict[str, Any], system: System) -> list[Finding]:
    """Check parameters of the kernel modules."""
    found = []
    for one in expect["modules"]:
        found.append(_parameter(one["module"], one["parameter"], one["at_least"], FAIL, system))
    wanted = {(one["module"], one["parameter"]) for one in expect["modules"]}
    if expect["fstype"] == "nfs":
        brakes = [one for one in LOW_MODULE_PARAMS if one[:2] not in wanted]
        found += [one for one in (_parameter(*brake, WARN, system) for brake in brakes) if one.status != OK]
        if (system.read("sys/module/nfs/parameters/nfs4_disable_idmapping") or "Y").strip() != "Y":
            fix = "remove nfs4_disable_idmapping from /etc/modprobe.d and reload nfs: owners are numbers with sec=sys"
            found.append(Finding("nfs4_disable_idmapping", WARN, "N, the default is Y", fix))
    return found


def _parameter(module: str, name: str, least: int, status: str, system: System) -> Finding:
    value = system.number(f"sys/module/{module}/parameters/{name}")
    if value is None:
        fix = f"put the recipe's file into /etc/modprobe.d; this kernel may be too old for {module}.{name}"
        return Finding(name, status, f"the module {module} does not show {name}", fix)
    if value >= least:
        return Finding(name, OK, f"{value}")
    fix = f"/etc/modprobe.d: options {module} {name}={least}; then umount all, modprobe -r nfsv4 nfs, mount again"
    return Finding(name, status, f"{value}, should be {least} or more", fix)


def check_route(expect: dict[str, Any], route: Route, slots: int) -> list[Finding]:
    """Check MTU, speed and round trip of the route to the server; `slots` are the requests in flight of a session."""
    return [_mtu(expect, route), _speed(route), _round_trip(expect, route, slots)]


def _mtu(expect: dict[str, Any], route: Route) -> Finding:
    smallest = min((one for one in (route.mtu, route.path_mtu) if one), default=None)
    if smallest is None:
        return Finding("mtu", WARN, "the MTU to the server could not be read", "install iproute2")
    text = f"{smallest} bytes over {route.interface or 'an unknown interface'}"
    wanted = expect.get("mtu")
    # The loopback and some tunnels have more than any port.
    if wanted and smallest < wanted:
        fix = f"set the MTU of {route.interface or 'the interface'} and of every switch between to {wanted}"
        return Finding("mtu", WARN, f"{text}, the server has {wanted}", fix)
    return Finding("mtu", OK, text)


def _speed(route: Route) -> Finding:
    if route.speed is None:
        return Finding("link", OK, f"{route.interface or 'interface'}: speed unknown (a virtual port does not say)")
    text = f"{route.interface}: {route.speed / 1000:g} Gbit/s"
    if route.speed >= SLOW_LINK:
        return Finding("link", OK, text)
    fix = "name the server by an address in the network of the fast ports; this looks like a management port"
    return Finding("link", WARN, text, fix)


def _round_trip(expect: dict[str, Any], route: Route, slots: int) -> Finding:
    if route.round_trip is None:
        fix = f"open TCP port {expect['port']} of the server to this client"
        return Finding("rtt", WARN, "the server took no connection to measure", fix)
    text = f"{route.round_trip / 1000:.3g} ms"
    size = int(expect["options"].get("rsize", 1048576))
    # Bytes in flight over the round trip, in Mbit/s.
    reachable = slots * size * 8 / max(route.round_trip, 1)
    if route.speed and reachable < route.speed:
        fix = "bring the client nearer to the server, or raise max_session_slots"
        return Finding("rtt", WARN, f"{text}: {slots} requests in flight fill only {reachable / 1000:.3g} Gbit/s", fix)
    return Finding("rtt", OK, text)


def examine(where: str, expect: dict[str, Any], system: System) -> list[Finding]:
    """Return all findings about the mount on `where`."""
    where = os.path.normpath(where)
    if not system.touch(where, 4 * int(expect["lanes"])):
        fix = "see that the server runs and is reachable; a hard mount waits until it is"
        return [Finding("answer", FAIL, f"the server of {where} does not answer", fix)]
    mount = _mounted(where, system)
    found = [check_mount(expect, mount, where)]
    if mount is None or found[0].status != OK:
        return found
    if expect["fstype"] == "nfs":
        options, transports = _transports(expect, where, system)
        # mountstats has the defaults too; what one mount has for itself is in the table of mounts only.
        own: dict[str, str] = {key: mount.options[key] for key in OF_THE_MOUNT if key in mount.options}
        options = {**(options or mount.options), **own}
        reached = system.lane_addresses(options.get("addr", "")) if expect["lane_addresses"] else set()
        found += [*check_options(expect, options), check_transport_security(expect, options)]
        found += check_nfs_lanes(expect, transports, reached)
    else:
        options = mount.options
        found += check_options(expect, options) + check_smb_lanes(expect, _sessions(expect, mount, system))
    found += check_modules(expect, system)
    slots = system.number("sys/module/nfs/parameters/max_session_slots") or DEFAULT_SLOTS
    # TCP tells the round trip also where the mount itself goes over RDMA.
    port = 2049 if expect["fstype"] == "nfs" else expect["port"]
    return found + check_route(expect, system.route(options.get("addr", ""), port), slots)


def _mounted(where: str, system: System) -> Mount | None:
    mounts = parse_mounts(system.read("proc/self/mounts") or "")
    there = [one for one in mounts if one.where == where and one.fstype in ("nfs", "nfs4", "cifs", "smb3")]
    return there[-1] if there else None


def _transports(expect: dict[str, Any], where: str, system: System) -> tuple[dict[str, str], list[Transport]]:
    """Options and connections; waits for lanes, which systemd mounts when the mount itself is there."""
    waited = 0.0
    while True:
        options, transports = parse_mountstats(system.read("proc/self/mountstats") or "", where)
        complete = sum(1 for one in transports if one.connects > 0) >= expect["lanes"]
        if complete or not expect["lane_addresses"] or waited >= CHANNEL_WAIT:
            return options, transports
        system.wait(1.0)
        waited += 1.0


def _sessions(expect: dict[str, Any], mount: Mount, system: System) -> list[Session]:
    """Sessions with this mount's share; waits for channels that are still being opened."""
    tree = mount.source.replace("/", "\\").lower()
    waited = 0.0
    while True:
        sessions = parse_debug_data(system.read("proc/fs/cifs/DebugData") or "")
        mine = [one for one in sessions if tree in (name.lower() for name in one.trees)]
        if waited >= CHANNEL_WAIT or all(one.channels >= expect["lanes"] for one in mine):
            return mine
        system.wait(1.0)
        waited += 1.0


def load_expectation(path: str) -> dict[str, Any]:
    """Return the JSON of `millrace client expect`, or the whole of `millrace client recipe --json`."""
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    expect = document.get("expect", document) if isinstance(document, dict) else {}
    needed = ("schema_version", "share", "profile", "protocol", "fstype", "source", "port", "options", "lanes")
    lists = ("lane_addresses", "modules", "encrypted")
    missing = [key for key in (*needed, *lists) if key not in expect]
    if missing:
        raise ValueError(f"it has no {missing[0]}")
    if expect["schema_version"] != 1:
        raise ValueError("it is of another release: download check.py again")
    return dict(expect)


def main(arguments: list[str] | None = None, system: System | None = None) -> int:
    """Check and report; the exit status."""
    parser = argparse.ArgumentParser(description="Check a mounted Millrace share.")
    parser.add_argument("mountpoint", help="where the share is mounted")
    parser.add_argument("--expect", required=True, metavar="FILE", help="JSON of `millrace client expect` or `recipe`")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    given = parser.parse_args(arguments)
    try:
        expect = load_expectation(given.expect)
    except (OSError, ValueError) as error:
        print(f"check.py: {given.expect} is not an expectation: {error}", file=sys.stderr)
        return 2
    findings = examine(given.mountpoint, expect, system or System())
    green = all(one.status == OK for one in findings)
    if given.json:
        report = {"schema_version": 1, "mountpoint": given.mountpoint, "green": green}
        print(json.dumps({**report, "findings": [one._asdict() for one in findings]}, indent=2))
    else:
        for one in findings:
            print(f"{one.status:4}  {one.check}: {one.text}" + (f"\n      fix: {one.fix}" if one.fix else ""))
    return 0 if green else 1


if __name__ == "__main__":
    sys.exit(main())
