# SPDX-License-Identifier: Apache-2.0
"""Check a mounted Millrace share on the client: is it as the recipe says, and if not, what to do.

    millrace client expect --workload training --protocol nfs-tcp > expect.json     (on the server)
    python3 check.pyz /mnt/data --expect expect.json [--gpu nvidia] [--json]       (here)

Exit status: 0 all is as it should be, 1 something is not or cannot be seen, 2 wrong usage. One file, Python 3.8 or
later, nothing else; it reads /proc and /sys, asks `ip` for the route and opens one connection to the server to measure
it. For GPUs it also starts tools of their makers, which read from the share and write nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import pkgutil
import re
import sys
from typing import Any

from millrace_client import gpu
from millrace_client.finding import FAIL, OK, WARN, Finding
from millrace_client.this_client import (
    Mount,
    Route,
    Session,
    System,
    Transport,
    parse_certificates,
    parse_debug_data,
    parse_mounts,
    parse_mountstats,
)

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
DEFAULT_SLOTS = 64


def check_mount(expect: dict[str, Any], mount: Mount | None, where: str) -> Finding:
    """Check that the share is what is mounted."""
    words = "mount it with the recipe: millrace client recipe --workload {workload} --protocol {protocol}"
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
    setting = options.get(key)
    if key == "proto" and setting == wanted + "6":
        setting = wanted
    more_is_better = key in AT_LEAST and setting is not None and setting.isdigit()
    if setting == wanted or (more_is_better and int(setting or 0) >= int(wanted)):
        return Finding(key, OK, f"{key}={setting}" if setting else key)
    here = "is not set" if setting is None else f"is {setting}"
    if key == "nconnect":
        fix = "an older mount of this server decided it: umount all mounts of the server, then mount this one first"
    elif key in ("rsize", "wsize"):
        fix = f"mount again with {shown}; if it stays so, the server allows no more"
    else:
        fix = f"umount, put {shown} into the options and mount again"
    return Finding(key, FAIL, f"{key} {here}, should be {wanted or 'set'}", fix)


def check_transport_security(expect: dict[str, Any], options: dict[str, str]) -> Finding:
    """Check whether the traffic is encrypted, and by what."""
    wanted, security = expect["options"].get("xprtsec"), options.get("xprtsec", "none")
    if wanted and security not in (wanted, "mtls"):
        fix = f"umount, systemctl enable --now tlshd.service, put xprtsec={wanted} into the options and mount again"
        return Finding("encryption", FAIL, f"xprtsec is {security}, should be {wanted}", fix)
    if security in ("tls", "mtls"):
        whose = "server and client show certificates" if security == "mtls" else "the server shows its certificate"
        return Finding("encryption", OK, f"TLS, {whose} (xprtsec={security})")
    if options.get("sec") == "krb5p":
        return Finding("encryption", OK, "Kerberos (sec=krb5p)")
    return Finding("encryption", OK, "none; the share does not ask for it")


def check_authorities(expect: dict[str, Any], system: System) -> list[Finding]:
    """Check that the client trusts the CA of the server, and the one that replaces it."""
    store, wanted = expect.get("truststore"), expect.get("authorities") or []
    if not store or not wanted:
        return []
    present = parse_certificates(system.read(store.lstrip("/")) or "")
    missing = [authority for authority in wanted if authority["fingerprint"] not in present]
    if not missing:
        return [Finding("authority", OK, f"{store} has {'both CAs' if len(wanted) > 1 else 'the CA'} of the server")]
    fix = f"copy {store} from the recipe again: millrace client recipe, or millrace certificate show --ca"
    needed = missing[0].get("needed_from")
    if len(missing) == len(wanted) or not needed:
        return [Finding("authority", FAIL, f"{store} lacks the CA of the server: the next mount fails", fix)]
    text = f"{store} has the old CA only: mounts fail from {needed[:10]} on, when the server uses the next one"
    return [Finding("authority", WARN, text, fix)]


def check_nfs_lanes(expect: dict[str, Any], transports: list[Transport], reached: set[str]) -> list[Finding]:
    """Check that there are as many connections as the recipe opens, all of them used."""
    up = sum(1 for transport in transports if transport.connects > 0)
    text = f"{up} of {expect['lanes']} connections"
    missing = [address for address in expect["lane_addresses"] if reached and address not in reached]
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
    least = min(session.channels for session in sessions)
    text = f"{least} of {expect['lanes']} channels"
    if least >= expect["lanes"]:
        findings = [Finding("lanes", OK, text)]
    else:
        fix = "see `dmesg | grep CIFS`: an address that the server advertises may be out of reach from here"
        findings = [Finding("lanes", FAIL, text, fix)]
    if expect["encrypted"]:
        good = all(session.encrypted for session in sessions)
        fix = "" if good else "umount, add seal to the options and mount again"
        findings.append(Finding("encryption", OK if good else FAIL, "encrypted" if good else "not encrypted", fix))
    return findings


def check_modules(expect: dict[str, Any], system: System) -> list[Finding]:
    """Check parameters of the kernel modules."""
    findings = []
    for parameter in expect["modules"]:
        findings.append(_parameter(parameter["module"], parameter["parameter"], parameter["at_least"], FAIL, system))
    wanted = {(parameter["module"], parameter["parameter"]) for parameter in expect["modules"]}
    if expect["fstype"] == "nfs":
        brakes = [brake for brake in LOW_MODULE_PARAMS if brake[:2] not in wanted]
        findings += [
            finding for finding in (_parameter(*brake, WARN, system) for brake in brakes) if finding.status != OK
        ]
        if (system.read("sys/module/nfs/parameters/nfs4_disable_idmapping") or "Y").strip() != "Y":
            fix = "remove nfs4_disable_idmapping from /etc/modprobe.d and reload nfs: owners are numbers with sec=sys"
            findings.append(Finding("nfs4_disable_idmapping", WARN, "N, the default is Y", fix))
    return findings


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
    smallest = min((mtu for mtu in (route.mtu, route.path_mtu) if mtu), default=None)
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
    findings = [check_mount(expect, mount, where)]
    if mount is None or findings[0].status != OK:
        return findings
    if expect["fstype"] == "nfs":
        options, transports = _transports(expect, where, system)
        # mountstats has the defaults too; what one mount has for itself is in the table of mounts only.
        own: dict[str, str] = {key: mount.options[key] for key in OF_THE_MOUNT if key in mount.options}
        options = {**(options or mount.options), **own}
        reached = system.lane_addresses(options.get("addr", "")) if expect["lane_addresses"] else set()
        findings += [*check_options(expect, options), check_transport_security(expect, options)]
        findings += check_authorities(expect, system)
        findings += check_nfs_lanes(expect, transports, reached)
    else:
        options = mount.options
        findings += check_options(expect, options) + check_smb_lanes(expect, _sessions(expect, mount, system))
    findings += check_modules(expect, system)
    slots = system.number("sys/module/nfs/parameters/max_session_slots") or DEFAULT_SLOTS
    # TCP tells the round trip also where the mount itself goes over RDMA.
    port = 2049 if expect["fstype"] == "nfs" else expect["port"]
    route = system.route(options.get("addr", ""), port)
    findings += check_route(expect, route, slots)
    maker = expect.get("gpu")
    return [*findings, *gpu.examine(maker, where, options, route.interface, system)] if maker else findings


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
        mine = [session for session in sessions if tree in (name.lower() for name in session.trees)]
        if waited >= CHANNEL_WAIT or all(session.channels >= expect["lanes"] for session in mine):
            return mine
        system.wait(1.0)
        waited += 1.0


def load_expectation(path: str) -> dict[str, Any]:
    """Return the JSON of `millrace client expect`, or the whole of `millrace client recipe --json`."""
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    expect = document.get("expect", document) if isinstance(document, dict) else {}
    needed = ("schema_version", "share", "workload", "protocol", "fstype", "source", "port", "options", "lanes")
    lists = ("lane_addresses", "modules", "encrypted")
    missing = [key for key in (*needed, *lists) if key not in expect]
    if missing:
        raise ValueError(f"it has no {missing[0]}")
    if expect["schema_version"] != 1:
        raise ValueError("it is of another release: download check.pyz again")
    return dict(expect)


def _own_gpu() -> str | None:
    """The maker of the GPUs that this program was made for."""
    try:
        return (pkgutil.get_data("millrace_client", "gpu.txt") or b"").decode() or None
    except OSError:
        return None


def main(arguments: list[str] | None = None, system: System | None = None) -> int:
    """Check and report; the exit status."""
    parser = argparse.ArgumentParser(description="Check a mounted Millrace share.")
    parser.add_argument("mountpoint", help="where the share is mounted")
    parser.add_argument("--expect", required=True, metavar="FILE", help="JSON of `millrace client expect` or `recipe`")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.add_argument("--gpu", choices=sorted(gpu.MAKERS), help="also check the way into GPUs of this maker")
    given = parser.parse_args(arguments)
    try:
        expect = load_expectation(given.expect)
    except (OSError, ValueError) as error:
        print(f"check.pyz: {given.expect} is not an expectation: {error}", file=sys.stderr)
        return 2
    expect["gpu"] = given.gpu or expect.get("gpu") or _own_gpu()
    if expect["gpu"] not in (None, *gpu.MAKERS):
        print(f"check.pyz: {given.expect} is not an expectation: its GPUs are unknown", file=sys.stderr)
        return 2
    findings = examine(given.mountpoint, expect, system or System())
    green = all(finding.status == OK for finding in findings)
    if given.json:
        report = {"schema_version": 1, "mountpoint": given.mountpoint, "green": green}
        print(json.dumps({**report, "findings": [finding._asdict() for finding in findings]}, indent=2))
    else:
        for finding in findings:
            print(
                f"{finding.status:6}  {finding.check}: {finding.text}"
                + (f"\n        fix: {finding.fix}" if finding.fix else "")
            )
    return 0 if green else 1
