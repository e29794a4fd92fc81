# SPDX-License-Identifier: Apache-2.0
"""The files of the shares, and how running servers reload them."""

from collections.abc import Callable, Collection, Sequence
from functools import cache, partial
from pathlib import Path

from millrace.plan.defaults import SmbdSettings
from millrace.plan.model import Nfsd
from millrace.serve.config.model import Domain
from millrace.serve.domain import files as domain_files
from millrace.serve.render.registry import FileEntry, RenderedService, Settled
from millrace.serve.share import (
    client_snapshots,
    directories,
    export_table,
    file_sids,
    machine_sid,
    nfs,
    quota,
    sid_record,
    smb,
    tls,
)
from millrace.serve.share.direct import service as direct
from millrace.serve.share.model import Share
from millrace.storage.record.model import Pool
from millrace.system import paths
from millrace.system.errors import MillraceError
from millrace.system.files import describe, write_text
from millrace.system.listeners import SMB_PORT, not_listening
from millrace.system.net import Interface, has_rdma_device
from millrace.system.run import Runner, must
from millrace.system.units import is_active

NO_QUOTA = "the pool is mounted without project quotas: limits of shares are not enforced and their usage is unknown"
NFS, SMB = "nfs-server.service", "smbd.service"
CHILD_QUOTA = "millrace-child-quota.service"


def prepare(
    pool: Pool, shares: Sequence[Share], count: Callable[[Sequence[Share], Collection[str]], list[str]]
) -> list[str]:
    """Create directories and set quotas; return what keeps a share from being served or counted, in words.

    `count` is given the shares and the names of the new ones, and returns what XFS refuses.

    What XFS refuses is a warning here, since serving comes before counting.
    """
    warnings = [_not_served(share) for share in shares if share.obstacle]
    for share in shares:
        directories.close(share)
    new = {share.name for share in shares if directories.create(share)}
    warnings += [sentence for share in shares for sentence in directories.foreign_homes(share)]
    warnings += _settle_snapshots(pool, shares)
    if not quota.enabled(pool.filesystem.mountpoint):
        return [*warnings, *([NO_QUOTA] if shares else [])]
    return warnings + count(shares, new)


def _settle_snapshots(pool: Pool, shares: Sequence[Share]) -> list[str]:
    """Let users into the snapshots of shares. A failure is a warning: the shares themselves are served."""
    mountpoint = pool.filesystem.mountpoint
    try:
        return [*client_snapshots.settle(shares, mountpoint), *client_snapshots.obstacles(shares, mountpoint)]
    except (MillraceError, OSError) as error:
        return [f"clients do not see snapshots: {describe(error)}"]


def _not_served(share: Share) -> str:
    how = (
        "served over SMB Direct" if share.direct is not None and share.obstacle == share.direct.obstacle else "exported"
    )
    return f"{share.name} is not {how}: {share.obstacle}"


def services(
    nfsd: Nfsd,
    pool: Pool,
    shares: Sequence[Share],
    ports: Sequence[Interface],
    run: Runner,
    domain: Domain | None = None,
    smbd: SmbdSettings = smb.DEFAULTS,
) -> list[RenderedService]:
    """Return what serves shares, with the files that it reads.

    NFS comes before SMB, whose configuration Samba may refuse. tlshd comes before the exports that demand it.
    """

    @cache
    def exportable() -> list[Share]:
        # once: the manifests of snapshots are read for it
        return client_snapshots.exportable(shares, pool.filesystem.mountpoint)

    def export(settled: Settled) -> bool:
        foreign = export_table.foreign_files()
        settled.warnings.extend(
            f"{path} is not managed by Millrace and is served in addition to the shares" for path in foreign
        )
        if not is_active(NFS, run):
            return False
        settled.warnings.extend(export_table.reload([] if nfs.EXPORTS in settled.kept else exportable(), run))
        return True

    def serve_smb(settled: Settled) -> bool:
        # smb.conf is that of the pool now, and smbd starts after this where it does not run
        other = _settle_sid(pool, domain, shares, settled, run)
        _sample_sids(pool, shares, settled, run)
        if not is_active(SMB, run):
            return False
        if other:
            restart_smbd(run)
            return True
        return _reload_smb(smb.CONFIGURATION in settled.changed, ports, run)

    return [
        RenderedService("", domain_files.entries(domain)),
        RenderedService(
            tls.UNIT,
            [FileEntry(tls.CONFIGURATION, lambda: tls.configuration(shares))],
            lambda settled: tls.reload(shares, tls.CONFIGURATION in settled.changed, run),
        ),
        RenderedService(
            NFS,
            [
                FileEntry(nfs.SETTINGS, lambda: nfs.settings(nfsd, has_rdma_device(), nfs.scope(pool))),
                FileEntry(nfs.ENVIRONMENT, lambda: nfs.environment(nfsd), recorded=False),
                FileEntry(nfs.MODULE_OPTIONS, lambda: nfs.module_options(nfsd), when=not nfsd.localio),
                FileEntry(nfs.EXPORTS, lambda: nfs.exports(exportable())),
                FileEntry(quota.PROJECTS, lambda: quota.projects(shares)),
                FileEntry(quota.PROJECT_NAMES, lambda: quota.project_names(shares)),
            ],
            export,
        ),
        RenderedService(
            CHILD_QUOTA,
            [
                FileEntry(
                    paths.CHILD_QUOTA,
                    lambda: quota.children(shares, pool.filesystem.mountpoint),
                    when=any(share.child_size for share in shares),
                    recorded=False,
                )
            ],
            lambda settled: _reload_child_quota(paths.CHILD_QUOTA in settled.changed, shares, run),
        ),
        RenderedService(
            SMB,
            [
                FileEntry(
                    smb.CONFIGURATION,
                    lambda: smb.configuration(shares, ports, domain, smbd=smbd, name=machine_sid.server_name(pool)),
                    check=partial(smb.validate, run=run),
                )
            ],
            serve_smb,
        ),
        direct.service(shares, run),
    ]


def smbd_restart_marker() -> Path:
    """The file with the addresses for which smbd was restarted; without it the next reload restarts smbd again."""
    return paths.run_dir() / "smbd-restarted-for"


def restart_smbd(run: Runner) -> None:
    """Restart smbd with the listeners of its configuration, which ends the sessions of clients."""
    # Without waiting: smbd is ordered after the unit that this may run in. At once: a new address also starts that
    # unit, which waits for the lock of the change that this may run in.
    must(run, ["systemctl", "restart", "--no-block", "--job-mode=ignore-dependencies", SMB])


def _settle_sid(pool: Pool, domain: Domain | None, shares: Sequence[Share], settled: Settled, run: Runner) -> bool:
    """Give Samba the SID of the pool; return whether it had another one. A failure is a warning: shares are served."""
    try:
        return machine_sid.settle(pool, domain, lambda: file_sids.of_files(file_sids.homes(shares), run), run)
    except (MillraceError, OSError) as error:
        sentence = "the SID of this server is not set, so users may not open their files over SMB"
        settled.warnings.append(f"{sentence}: {describe(error)}")
        return False


def _sample_sids(pool: Pool, shares: Sequence[Share], settled: Settled, run: Runner) -> None:
    """Publish for health by which SIDs files name users. A failure is a warning: shares are served."""
    try:
        sid_record.sample(shares, pool, run)
    except (MillraceError, OSError) as error:
        sentence = "files of homes were not examined, so health does not know their SID"
        settled.warnings.append(f"{sentence}: {describe(error)}")


def restart_child_quota(run: Runner) -> None:
    """Restart what assigns quotas to directories. Failed: systemd does not begin it."""
    # without waiting: it looks at every directory first
    must(run, ["systemctl", "restart", "--no-block", "--job-mode=ignore-dependencies", CHILD_QUOTA])


def _reload_child_quota(changed: bool, shares: Sequence[Share], run: Runner) -> bool:
    """Restart what assigns quotas to directories, which sets the limits of all of them; end it where none has one."""
    if not any(share.child_size for share in shares):
        if changed:
            must(run, ["systemctl", "stop", CHILD_QUOTA])
        return changed
    if not changed and is_active(CHILD_QUOTA, run):
        return False
    restart_child_quota(run)
    return True


def _reload_smb(changed: bool, ports: Sequence[Interface], run: Runner) -> bool:
    """Let a running smbd load its configuration; return whether it was reloaded or restarted.

    It opens its listeners once, when it starts: an address that came later is not served until it is started again.
    Anything else it loads while clients stay connected.
    """
    silent = sorted(
        str(address)
        for address in not_listening((address.ip for port in ports for address in port.addresses), SMB_PORT)
    )
    marker = smbd_restart_marker()
    if not silent:
        marker.unlink(missing_ok=True)
    # Once for the same addresses: one on which smbd will not listen must not end the sessions again and again.
    if silent and (not marker.exists() or marker.read_text().split() != silent):
        write_text(marker, "\n".join(silent) + "\n")
        restart_smbd(run)
        return True
    if changed:
        must(run, ["smbcontrol", "smbd", "reload-config"])
    return changed
