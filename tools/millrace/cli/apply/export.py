# SPDX-License-Identifier: Apache-2.0
"""The desired state of this server as a file that `millrace apply` reads: each key that a verb decides, no secrets.

Keys with their defaults are in it, too: what is changed after the export comes back with it.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from millrace.cli.apply.model import DEFAULT, NONE, ServerFile
from millrace.cli.apply.routes import entry_of
from millrace.observe.alert import routes
from millrace.plan.policy import edit as policy_edit
from millrace.plan.policy.policy_file import parse_policy
from millrace.protect.backup import backup_store
from millrace.serve.config.model import Config, DesiredShare
from millrace.serve.config.network import DesiredBond, DesiredLink, DesiredVlan
from millrace.serve.share import permissions
from millrace.serve.share.options import size_text
from millrace.system import paths
from millrace.system.errors import Refused
from millrace.system.files import write_text
from millrace.system.names import several

HEADER = """\
# The desired state of this server; millrace apply reads it (docs/apply.md).
# Passwords and secrets of alert routes are not in it: password_file, secret_file.
"""

Table = dict[str, Any]


def export(config: Config, path: Path) -> None:
    """Write the file. Refused: it cannot be written. BadInput: the policy or the alert routes cannot be read."""
    if not path.parent.is_dir():
        raise Refused(f"directory {path.parent} does not exist; create it or choose another file")
    try:
        write_text(path, HEADER + text(config), 0o600)
    except OSError as error:
        raise Refused(f"{path} cannot be written: {error.strerror}") from error


def text(config: Config) -> str:
    """Return the state in TOML. BadInput: the policy or the alert routes cannot be read."""
    document = values(config)
    ServerFile.model_validate(document)
    return "".join(f"{line}\n" for line in _lines(document, ()))


def values(config: Config) -> Table:
    """Return the tables of the file. BadInput: the policy or the alert routes cannot be read."""
    policy = parse_policy(policy_edit.current(), str(paths.policy_file()))
    return {
        "schema_version": 1,
        "network": _network(config),
        "nfs": {"networks": list(config.nfs.networks)},
        "access": {
            name: {
                "role": role,
                **person.model_dump(mode="json", include={"full_name", "keys", "locked"}),
            }
            for name, (person, role) in config.people.items()
        },
        "groups": {group.name: {} for group in config.groups},
        "users": {user.name: {"groups": list(user.groups)} for user in config.users if user.role is None},
        "shares": {share.name: _share(share) for share in config.shares if share.replica is None},
        "alert_routes": {
            route.name: entry_of(route).model_dump(mode="json", exclude_none=True) for route in routes.load()
        },
        "policy": policy.model_dump(mode="json", exclude_none=True),
    }


def left_out(config: Config) -> list[str]:
    """Return what no file for `millrace apply` decides and this server has, in sentences. BadInput: as `text`."""
    replicas = [share.name for share in config.shares if share.replica is not None]
    read = [share.name for share in config.shares if share.readers]
    backups = [backup.name for backup in backup_store.load()]
    return [
        *([f"the file leaves replicas out: {several(replicas)}"] if replicas else []),
        *([f"the file leaves out which servers may read the snapshots of {several(read)}"] if read else []),
        *([f"the file leaves backups out: {several(backups)}"] if backups else []),
    ]


def _network(config: Config) -> Table:
    network = config.network
    names = {port.mac: port.name for port in config.ports} | {port.mac: port.name for port in network.members}
    return {
        "dns": list(network.dns),
        "search": list(network.search),
        "ntp": list(network.ntp),
        "routes": [route.model_dump() for route in network.routes],
        # a port of which nothing else was decided has no name in the desired state
        "management": [names.get(mac, mac) for mac in config.management],
        "ports": {port.name: _link(port) for port in config.ports},
        "bonds": {bond.name: _bond(bond) for bond in network.bonds},
        "vlans": {vlan.name: _vlan(vlan) for vlan in network.vlans},
    }


def _link(link: DesiredLink) -> Table:
    given = {"addresses": list(link.addresses), "dhcp": link.dhcp, "mtu": link.mtu or DEFAULT}
    return given | ({"gateway": link.gateway} if link.gateway else {})


def _bond(bond: DesiredBond) -> Table:
    return {"mode": bond.mode, "members": [port.name for port in bond.members], **_link(bond)}


def _vlan(vlan: DesiredVlan) -> Table:
    return {"vlan": vlan.vlan, "parent": vlan.parent_name, **_link(vlan)}


def _share(share: DesiredShare) -> Table:
    table: Table = {"type": share.type, "comment": share.comment}
    for key in ("size", "soft_size", "child_size"):
        size = getattr(share, key)
        table[key] = NONE if size is None else size_text(size)
    if share.type not in permissions.RULED:
        table |= {"writing": share.writing, "group": share.group or NONE}
    snapshots = share.snapshots
    table["snapshots"] = NONE if snapshots is None else snapshots.model_dump(exclude_defaults=True)
    nfs = share.nfs
    clients = [client.model_dump(mode="json", exclude_defaults=True) for client in nfs.clients]
    table["nfs"] = nfs.model_dump(mode="json") | {"clients": clients}
    table["smb"] = share.smb.model_dump(mode="json")
    return table


def _lines(table: Mapping[str, Any], above: tuple[str, ...]) -> Iterator[str]:
    """Yield the lines of a table: its own keys, then the tables in it."""
    tables = {key: value for key, value in table.items() if isinstance(value, dict)}
    for key, value in table.items():
        if key not in tables:
            yield f"{_key(key)} = {_value(value)}"
    for key, inner in tables.items():
        place = (*above, key)
        own = [name for name, value in inner.items() if not isinstance(value, dict)]
        if own or not inner:
            yield ""
            yield f"[{'.'.join(map(_key, place))}]"
        yield from _lines(inner, place)


def _key(key: str) -> str:
    return key if key.replace("-", "").replace("_", "").isalnum() and key.isascii() else _value(key)


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_key(key)} = {_value(inner)}' for key, inner in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    # JSON's escapes are TOML's, except that of the last control character
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
