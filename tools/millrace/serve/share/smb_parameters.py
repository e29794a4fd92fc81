# SPDX-License-Identifier: Apache-2.0
"""The parameters of a share's section of smb.conf, by type.

Measured and read for Samba 4.24 and 4.25: `posix locking = no` keeps durable handles alive beside byte-range locks,
`ask sharemode = no` answers a stat without reading locking.tdb, and io_uring costs the least CPU time.
"""

from pathlib import Path
from typing import Final

from millrace.serve.share import access_log, client_snapshots, permissions
from millrace.serve.share.model import Caching, Denials, Share, SmbAccess
from millrace.system import paths

# The account that verifies shares; it has a password only during a verification.
CHECKER: Final = "millrace-check"

_STACK = "catia fruit streams_xattr"
_ACL_XATTR = "acl_xattr"

# Of the package millrace-modules: an image with --stock-modules is without it.
DENIALS: Final = "usr/lib/x86_64-linux-gnu/samba/vfs/refuse_denials.so"

# For one protocol only: clients may cache, no other protocol writes. Locks of POSIX would end durable handles.
_ALONE = {
    "posix locking": "no",
    "vfs objects": f"{_STACK} io_uring",  # last in the stack
    "smbd profiling share": "yes",
}
_FAST = {"csc policy": "disable", **_ALONE}  # no offline copies of terabytes on a laptop
_LOOSE_STAT = {"smbd getinfo ask sharemode": "no", "smbd search ask sharemode": "no"}

# The masks keep the owner's execute bit: smbd allows full control of a file only to who has all of rwx.
_TYPES: dict[str, dict[str, str]] = {
    "training": {**_FAST, **_LOOSE_STAT, "create mask": "0764", "directory mask": "2775"},
    # A checkpoint that was flushed is on the drives, whatever the defaults become.
    "checkpoint": {**_FAST, "strict sync": "yes", "create mask": "0760", "directory mask": "2770"},
    # Case-sensitive: a name that is not there costs one look-up, not a scan of the directory.
    "dataset-ro": {
        **_FAST,
        **_LOOSE_STAT,
        "case sensitive": "yes",
        "mangled names": "no",
        "oplocks": "yes",
        "store dos attributes": "no",
    },
    # NT ACLs beside the modes: only where NFS does not change the modes.
    "home": {
        "vfs objects": f"{_STACK} {_ACL_XATTR}",
        "create mask": "0600",
        "directory mask": "0700",
        "inherit acls": "yes",
        "smbd profiling share": "yes",
    },
    "mixed": _ALONE,
}

# NFS writers do not break SMB leases: no caching by clients, locks that both sides see, no symbolic links that NFS
# would show as empty files, nothing that keeps modes or locks in a place of its own.
_BOTH = {
    "oplocks": "no",
    "level2 oplocks": "no",
    "posix locking": "yes",
    "strict locking": "yes",
    "smb3 unix extensions": "no",
    "vfs objects": _STACK,
}


def parameters(share: Share) -> dict[str, str]:
    """Return the lines of a share's section, in their order; empty for a share that is not on SMB."""
    if share.smb is None:
        return {}
    home = share.type == "home"
    return {
        **({"comment": share.comment} if share.comment else {}),
        "path": f"{share.path}/%u" if home else share.path,
        "read only": "yes" if share.type == "dataset-ro" else "no",
        "guest ok": "no",
        **_people(share.smb, with_checker=not home),
        "hosts allow": " ".join(["127.0.0.1", "::1", *share.smb.networks]),
        **({"server smb encrypt": "required"} if share.smb.encryption == "required" else {}),
        **_behaviour(share),
        **masks(share),
        **({"fruit:time machine": "yes"} if share.smb.time_machine else {}),
    }


def denials(share: Share) -> Denials | None:
    """Return what becomes of an entry that denies access, in an access list that a client sets.

    None where no client sets any: nobody writes, or the share is not on SMB. ksmbd has no setting that refuses them
    (kernel 7.2: set_posix_acl_entries_dacl() in fs/smb/server/smbacl.c maps to POSIX access lists).
    """
    if share.type == "dataset-ro" or (share.smb is None and share.direct is None):
        return None
    if share.smb is None:
        return "dropped"
    if _ACL_XATTR in _TYPES[share.type]["vfs objects"] and not share.both:
        return "kept"
    return "refused" if (paths.ROOT / DENIALS).exists() else "dropped"


def caching(share: Share) -> Caching | None:
    """Return whether SMB clients may cache; None for a share that Samba does not serve."""
    return None if share.smb is None else "none" if share.both else "clients"


def masks(share: Share) -> dict[str, str]:
    """Return the masks of new files and directories of a share: those of its type, or what others than the creator may.

    Empty where they are those of the server.
    """
    rule = permissions.rule(share)
    if rule is None or rule.default is None:
        return {name: value for name, value in _TYPES[share.type].items() if name.endswith("mask")}
    return {"create mask": f"{0o700 | rule.default & 0o066:04o}", "directory mask": f"{rule.mode:04o}"}


def _people(smb: SmbAccess, with_checker: bool) -> dict[str, str]:
    people = [_quoted(one) for one in (*smb.users, *(f"+{group}" for group in smb.groups))]
    if not with_checker:
        return {"valid users": " ".join(people)}
    return {"valid users": " ".join([*people, CHECKER]), "read list": CHECKER}


def _quoted(name: str) -> str:
    # Groups of a domain have blanks in their names.
    return f'"{name}"' if " " in name else name


def _behaviour(share: Share) -> dict[str, str]:
    own = _TYPES[share.type]
    if share.smb is not None and not share.smb.io_uring and "io_uring" in own.get("vfs objects", ""):
        own = {**own, "vfs objects": _STACK}
    if share.both:
        own = {**{name: value for name, value in own.items() if name not in _LOOSE_STAT}, **_BOTH}
    if share.smb is not None and share.smb.previous_versions:
        # below what maps names and keeps streams and NT ACLs, which then work on the file of the snapshot
        stack = own["vfs objects"].split()
        stack.insert(len(stack) - ("io_uring" in stack), client_snapshots.MODULE)
        own = {**own, "vfs objects": " ".join(stack), **client_snapshots.parameters(share)}
    if denials(share) == "refused":
        own = {**own, "vfs objects": f"{Path(DENIALS).stem} {own['vfs objects']}"}
    if share.smb is not None and share.smb.audit:
        # above all others: the names of clients, and what was refused is no success
        own = {**own, "vfs objects": f"full_audit {own['vfs objects']}", **access_log.PARAMETERS}
    return own
