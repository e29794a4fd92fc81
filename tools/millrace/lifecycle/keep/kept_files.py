# SPDX-License-Identifier: Apache-2.0
"""What is kept on the pool and what is not: the one table, from which everything of this room follows.

Not listed because it follows from what is: the scope of the NFS server and the fsid of each export, which are made of
the UUID of the file system and the name of the share.
"""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

How = Literal["file", "link", "tree", "tdb", "shadow", "quotas", "keys"]
"""How it is read: a file (`*` for several), a symbolic link, everything below a directory, a database of Samba with
tdbdump(8), the lines of our users in shadow(5), which trees belong to which quota project, and SSH keys in a home
directory."""


@dataclass(frozen=True)
class KeptPath:
    """One thing that is kept; `path` is where it is, relative to the root directory.

    `secret`: others may not read it; so is any file that others cannot read where it is. `decided`: a change of it is
    kept at once. Other things are records that grow by themselves and are kept daily, so that they do not push
    decisions out of the generations.
    """

    path: str
    restores: str
    how: How = "file"
    secret: bool = False
    decided: bool = True


@dataclass(frozen=True)
class Left:
    """Files of Millrace that are not kept, with the reason."""

    path: str
    reason: str


STATE = "var/lib/millrace"

KEPT = [
    # the pool
    KeptPath(f"{STATE}/pool.json", "arrays, members and file system of the pool"),
    KeptPath(f"{STATE}/history/pool-*.json", "earlier members of the pool", decided=False),
    KeptPath(f"{STATE}/plan.json", "the approved plan"),
    KeptPath(f"{STATE}/priority.json", "whether clients or a rebuild go first"),
    KeptPath(f"{STATE}/removed.json", "drives that were taken out on purpose"),
    KeptPath(f"{STATE}/in-sync.json", "members that were in sync last", decided=False),
    KeptPath(f"{STATE}/apart.json", "members that are kept apart from their array", decided=False),
    KeptPath(f"{STATE}/returns.json", "members that came back", decided=False),
    KeptPath(f"{STATE}/failures.jsonl", "members that failed, in their order", decided=False),
    KeptPath(f"{STATE}/revivals.jsonl", "arrays that were started again by themselves", decided=False),
    KeptPath(f"{STATE}/unclean.json", "arrays that were started unclean while degraded", decided=False),
    KeptPath(f"{STATE}/unclean-files.txt", "files that may be damaged after such a start", decided=False),
    KeptPath(f"{STATE}/rescued.json", "the last rescue of the pool", decided=False),
    KeptPath(f"{STATE}/reset-last.json", "who began the last factory reset, and when", decided=False),
    KeptPath(f"{STATE}/pool-destroyed.json", "the last pool that was destroyed", decided=False),
    KeptPath(f"{STATE}/drive-changed.json", "the last change of drives", decided=False),
    KeptPath(f"{STATE}/erase.json", "erasures of drives and how they ended", decided=False),
    KeptPath(f"{STATE}/drive-tests.json", "tests of drives and how they ended", decided=False),
    KeptPath(f"{STATE}/clone.json", "the last clone and how it ended", decided=False),
    KeptPath(f"{STATE}/scrub.json", "result and age of the last check of each array", decided=False),
    KeptPath(f"{STATE}/trim.json", "result and age of the last trim", decided=False),
    KeptPath(f"{STATE}/drives.json", "bay, size and wear of each drive", decided=False),
    KeptPath(f"{STATE}/media-errors.json", "media errors of each drive", decided=False),
    KeptPath(f"{STATE}/rises.json", "days on which error counters of the hardware rose", decided=False),
    # what administrators decided
    KeptPath(f"{STATE}/config.json", "the desired state: shares, users, groups, ports, domain"),
    KeptPath(f"{STATE}/config-history/*.json", "changes of the desired state, for a rollback"),
    KeptPath(f"{STATE}/policy.last-good.toml", "the last policy that could be read"),
    KeptPath("etc/millrace", "the policy with certificates that it names, whether ssh is on", "tree"),
    KeptPath(f"{STATE}/alert", "alert routes and acknowledgements", "tree", secret=True),
    KeptPath(
        f"{STATE}/backup", "backups with their credentials and the passwords of repositories", "tree", secret=True
    ),
    KeptPath(f"{STATE}/backup-record.json", "how backups ended, and what the next one is compared with", decided=False),
    KeptPath(f"{STATE}/metrics", "the endpoint of metrics", "tree", secret=True),
    KeptPath("accounts/shadow", "passwords of users and of the administrator, as hashes", "shadow", secret=True),
    KeptPath("accounts/quotas.json", "which trees have their quota project, so that none is walked again", "quotas"),
    # the module rewrites it at each sign-in, so it is no decision by itself
    KeptPath(
        f"{STATE}/access/second-factor",
        "secrets of authenticator apps and recovery codes",
        "tree",
        secret=True,
        decided=False,
    ),
    KeptPath(f"{STATE}/access/log", "who ran which changing command", "tree", secret=True, decided=False),
    KeptPath(f"{STATE}/update/source.json", "the URL of updates"),
    KeptPath(f"{STATE}/update/failed.json", "versions that failed here", decided=False),
    # identities
    KeptPath(
        "var/lib/samba/private/secrets.tdb", "SIDs of the machine by name, secret of the domain", "tdb", secret=True
    ),
    KeptPath(f"{STATE}/machine-sid.json", "SID of the machine, by which NT ACLs of files name users"),
    # a wrong password is counted in it
    KeptPath("var/lib/samba/private/passdb.tdb", "SMB accounts with NT hashes", "tdb", secret=True, decided=False),
    KeptPath("var/lib/samba/winbindd_idmap.tdb", "numbers of accounts outside the domain", "tdb", decided=False),
    KeptPath("etc/krb5.keytab", "keys of the machine for Kerberos", secret=True),
    KeptPath(f"{STATE}/certificate", "authority, certificates and keys", "tree", secret=True),
    KeptPath(f"{STATE}/nfs-handles.key", "signature of NFS file handles: clients keep open files", secret=True),
    KeptPath("etc/hostname", "the host name"),
    KeptPath("etc/localtime", "the time zone", "link"),
    KeptPath("etc/machine-id", "the machine ID, from which a host name is made"),
    KeptPath("etc/nvme/hostnqn", "the NVMe host identity"),
    KeptPath("etc/ssh/ssh_host_*_key", "SSH host keys", secret=True),
    KeptPath("etc/ssh/ssh_host_*_key.pub", "SSH host keys"),
    KeptPath(
        "home/admin/.ssh/authorized_keys",
        "SSH keys in the home of admin, which an earlier release reads",
        "keys",
        secret=True,
    ),
    KeptPath("root/.ssh/authorized_keys", "SSH keys that sign in as root", "keys", secret=True),
]

LEFT = [
    Left(f"{STATE}/access/ssh-keys", "rendered again from the desired state"),
    Left(f"{STATE}/access/ssh-keys/*", "rendered again from the desired state"),
    Left(f"{STATE}/access/log/.lock", "held by processes"),
    Left(f"{STATE}/keep/*", "the key would open what it seals, and the status is that of this boot drive"),
    Left(f"{STATE}/rendered.json", "files under /etc are rendered again; its quota projects are kept by themselves"),
    Left(f"{STATE}/replaced/*", "files under /etc that were edited by hand on this boot drive"),
    Left(f"{STATE}/settings.json", "computed again at every boot, for the hardware that is there"),
    Left(f"{STATE}/bench/*", "measurements of the hardware that was there; a report is exported"),
    Left(f"{STATE}/tuner/*", "measurements of the hardware that was there; what was applied is beside the policy"),
    Left(f"{STATE}/jobs/*", "how the last job of each kind ended on this boot drive"),
    Left(f"{STATE}/backend/*", "the pool lies behind these connections, which are made before it is found"),
    Left(f"{STATE}/reset.json", "a factory reset ends with this boot drive"),
    Left(f"{STATE}/pool-destruction.json", "it ends with the pool"),
    Left(f"{STATE}/config.json.unreadable", "damaged"),
    Left(f"{STATE}/accounts-touched.json", "a change under way: another boot drive has none of its accounts"),
    Left(f"{STATE}/replicas.json", "how runs of replicas ended; the next run of each has it again"),
    Left(f"{STATE}/verified.json", "how this boot drive served its shares; the next verification has it again"),
    Left(f"{STATE}/admin-*", "whether this boot drive has its administrator; the password is kept"),
    Left(f"{STATE}/approval.json", "it ends when the pool exists"),
    Left(f"{STATE}/transaction.json", "it ends when the pool exists"),
    Left(f"{STATE}/history/*/*", "how the pool was made; pool.json and plan.json have the result"),
    Left(f"{STATE}/adoption.*", "it ends when the pool is adopted"),
    Left(f"{STATE}/update/before.json", "it ends when a version is accepted; another boot drive has its own versions"),
    Left(f"{STATE}/update/last.json", "how the last update of this boot drive ended"),
    Left(f"{STATE}/update/checked.json", "what the source of updates offered at the last check of this boot drive"),
    Left(f"{STATE}/update/incoming", "a download under way"),
    Left(f"{STATE}/update/staged/*", "files of a release, until they are installed"),
    Left(f"{STATE}/by-version/*", "documents as the version in the other slot of this boot drive left them"),
    Left(f"{STATE}/drive-change.json", "a change under way: the drives themselves show how far it came"),
    Left(f"{STATE}/rescue.json", "a rescue under way, in which the pool is not mounted"),
    Left(f"{STATE}/unrepaired", "a rescue under way, in which the pool is not mounted"),
    Left(f"{STATE}/rescue-*.metadump", "as large as the metadata of the pool, and about a state of the past"),
    Left(f"{STATE}/scrub-replaced", "blocks of files that a repair replaced, for the administrator to verify"),
    Left(f"{STATE}/scrub-replaced/*", "blocks of files that a repair replaced, for the administrator to verify"),
    Left(f"{STATE}/recovery-key-wanted", "the root file system of this boot drive waits for a recovery key"),
    Left(f"{STATE}/*.lock", "held by processes"),
    Left(f"{STATE}/*/.lock", "held by processes"),
    Left(f"{STATE}/.*", "a file that is being written"),
    Left(f"{STATE}/*/.*", "a file that is being written"),
]


def has(one: KeptPath, member: str) -> bool:
    """Whether a file in a generation, by its path, is this thing or a part of it."""
    if one.how == "tree":
        return member.startswith(f"{one.path}/")
    return fnmatchcase(member, f"{one.path}.dump" if one.how == "tdb" else one.path)


def fate(path: str) -> str | None:
    """Return what restoring a file means, or why it is not kept; None where the table does not have it.

    `path` is relative to the root directory.
    """
    for left in LEFT:
        if fnmatchcase(path, left.path):
            return left.reason
    for kept in KEPT:
        if has(kept, path):
            return kept.restores
    return None
