# SPDX-License-Identifier: Apache-2.0
"""What a change may not add to the desired state, and what is still read where it is there already.

The models refuse what cannot be served. A state file that they refuse serves nothing, so a later rule stands here: it
holds for what a change adds or alters, and a server that has it from before keeps it.
"""

from ipaddress import ip_address, ip_interface

from millrace.serve.config.model import Config, DesiredShare
from millrace.serve.config.network import DesiredLink
from millrace.system import names
from millrace.system.command import command
from millrace.system.errors import BadInput

# polkit, sudo or a daemon of some package gives the members of these groups the rights of root. The image has none of
# them; one that it has is refused as an account of the system.
PRIVILEGED = frozenset({"docker", "empower", "incus", "incus-admin", "libvirt", "lxd", "wheel"})


def refuse(old: Config, new: Config) -> None:
    """Verify `new` against rules that `old` may break. BadInput: one sentence for the first thing that it adds."""
    # By name: looking each up among all takes a second of processor time for 4,000 shares.
    known = {share.name: share for share in old.shares}
    for share in new.shares:
        if share != known.get(share.name):
            _share(share)
    _seals(old, new)
    for link in new.links:
        if link not in old.links:
            _link(link)
    accounts = {user.name for user in new.users} | {group.name for group in new.groups}
    before = {user.name for user in old.users} | {group.name for group in old.groups}
    for name in sorted((accounts - before) & PRIVILEGED):
        raise BadInput(f"{name} cannot be the name of a user or group: its members would have rights of root")


def _seals(old: Config, new: Config) -> None:
    """A seal is opened by a change that does nothing else, so that the history and the journal show it."""
    for share in old.shares:
        if not share.sealed:
            continue
        after = new.share(share.name)
        if after is not None and after.sealed:
            continue
        opened = [
            old_share.model_copy(update={"sealed": False}) if old_share.name == share.name else old_share
            for old_share in old.shares
        ]
        if new.model_copy(update={"serial": old.serial}) != old.model_copy(update={"shares": opened}):
            raise BadInput(
                f"share {share.name} is sealed: unseal it first: {command('millrace share unseal', share.name)}"
            )


def _share(share: DesiredShare) -> None:
    if share.replica is None and not share.nfs.enabled and not share.smb.enabled:
        raise BadInput(
            f"{share.name} would be served to nobody: leave NFS or SMB on, or stop serving it with "
            f"{command('millrace share remove', share.name)}, which keeps its data"
        )


def _link(link: DesiredLink) -> None:
    try:
        names.interface(link.name)
    except ValueError as error:
        raise BadInput(str(error)) from error
    if link.gateway in {str(ip_interface(one).ip) for one in link.addresses}:
        raise BadInput(f"the gateway {ip_address(link.gateway)} is an address of {link.name} itself: name the router's")
