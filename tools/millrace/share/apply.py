# SPDX-License-Identifier: Apache-2.0
"""Make the files say what is desired, and tell the servers that run."""

from collections.abc import Sequence
from pathlib import Path

from millrace import paths
from millrace.etc import rendered
from millrace.membership import files as domain_files
from millrace.plan.model import Plan
from millrace.provision.model import Pool
from millrace.share import directories, exports, handle_key, nfs, quota, smb, tls
from millrace.share.model import RenderReport, Share
from millrace.state.model import Domain
from millrace.system.files import write_text
from millrace.system.listeners import SMB_PORT, unheard
from millrace.system.net import Interface, has_rdma_device
from millrace.system.run import Runner, attempt, must
from millrace.system.units import is_active

NO_QUOTA = "the pool is mounted without project quotas: limits of shares are not enforced and their usage is unknown"


def apply(
    plan: Plan,
    pool: Pool,
    shares: Sequence[Share],
    ports: Sequence[Interface],
    run: Runner = attempt,
    force: bool = False,
    domain: Domain | None = None,
) -> RenderReport:
    """Create the directories, write what changed, reload what runs. The caller has verified the pool.

    NFS comes first: an smb.conf that Samba refuses raises Failed, keeps the old one and leaves NFS serving. A file
    that was edited by hand is kept and reported, or with `force` replaced and kept aside.
    """
    warnings = [f"{share.name} is not exported: {share.obstacle}" for share in shares if share.obstacle]
    warnings += _prepare(pool, shares, run)
    drift = [name for name in _texts(plan, pool, shares, ports, domain) if rendered.is_edited(name)]
    changed, reloaded = domain_files.settle(domain), []
    # Before the exports: without it the kernel gives out no handle of theirs.
    if handle_key.ensure():
        changed.append(str(handle_key.file().relative_to(paths.ROOT)))
    for name, text in {**_nfs_texts(plan, pool, shares), **domain_files.texts(domain)}.items():
        if (force or name not in drift) and rendered.put(name, text):
            changed.append(name)
    if write_text(paths.ROOT / nfs.ENVIRONMENT, nfs.environment(plan.nfsd)):
        changed.append(nfs.ENVIRONMENT)
    warnings += [
        f"{path} is not managed by Millrace and is served in addition to the shares" for path in exports.foreign_files()
    ]
    # Before the exports: what they demand can be given at once.
    if tls.tell(shares, tls.CONFIGURATION in changed, run):
        reloaded.append(tls.UNIT)
    if is_active("nfs-server.service", run):
        served = shares if force or nfs.EXPORTS not in drift else []
        warnings += exports.reload(served, run)
        reloaded.append("nfs-server.service")
    if (force or smb.CONFIGURATION not in drift) and _write_smb(smb.configuration(shares, ports, domain), run):
        changed.append(smb.CONFIGURATION)
    if is_active("smbd.service", run) and _tell_smb(smb.CONFIGURATION in changed, ports, run):
        reloaded.append("smbd.service")
    return RenderReport(
        changed=[f"/{name}" for name in changed],
        reloaded=reloaded,
        warnings=warnings,
        drift=[f"/{name}" for name in drift],
    )


def restarted_for() -> Path:
    """The addresses for which smbd was started again; whoever removes it asks for that once more."""
    return paths.run_dir() / "smbd-restarted-for"


def _nfs_texts(plan: Plan, pool: Pool, shares: Sequence[Share]) -> dict[str, str]:
    return {
        nfs.SETTINGS: nfs.settings(plan.nfsd, has_rdma_device(), nfs.scope(pool)),
        nfs.EXPORTS: nfs.exports(shares),
        tls.CONFIGURATION: tls.configuration(),
        quota.PROJECTS: quota.projects(shares),
        quota.PROJECT_NAMES: quota.project_names(shares),
    }


def _texts(
    plan: Plan, pool: Pool, shares: Sequence[Share], ports: Sequence[Interface], domain: Domain | None
) -> dict[str, str]:
    return {
        **_nfs_texts(plan, pool, shares),
        **domain_files.texts(domain),
        smb.CONFIGURATION: smb.configuration(shares, ports, domain),
    }


def _prepare(pool: Pool, shares: Sequence[Share], run: Runner) -> list[str]:
    """Directories and quotas; what XFS does not take is a warning here, as serving goes before counting."""
    for share in shares:
        directories.close(share)
    made = {share.name for share in shares if directories.create(share)}
    warnings = [sentence for share in shares for sentence in directories.strangers(share)]
    if not quota.enabled(pool.filesystem.mountpoint):
        return [*warnings, *([NO_QUOTA] if shares else [])]
    return warnings + quota.assign(shares, pool, run, created=made)


def _write_smb(text: str, run: Runner) -> bool:
    """Whether smb.conf changed; one that Samba refuses raises Failed and changes nothing."""
    target = paths.ROOT / smb.CONFIGURATION
    if not target.is_file() or target.read_text() != text:
        smb.validate(text, run)
    return rendered.put(smb.CONFIGURATION, text)


def restart_smbd(run: Runner) -> None:
    """Start smbd again with the listeners of its configuration, which ends the sessions of clients."""
    # Without waiting: smbd is ordered after the unit that this may run in. At once: a new address also starts that
    # unit, which waits for the lock of the change that this may run in.
    must(run, ["systemctl", "restart", "--no-block", "--job-mode=ignore-dependencies", "smbd.service"])


def _tell_smb(changed: bool, ports: Sequence[Interface], run: Runner) -> bool:
    """Make smbd, which runs, take its configuration on; whether it had to be told.

    It opens its listeners once, when it starts: an address that came later is not served until it is started again.
    Anything else it takes on while clients stay connected.
    """
    silent = sorted(str(one) for one in unheard((one.ip for port in ports for one in port.addresses), SMB_PORT))
    asked = restarted_for()
    if not silent:
        asked.unlink(missing_ok=True)
    # Once for the same addresses: one on which smbd will not listen must not end the sessions again and again.
    if silent and (not asked.exists() or asked.read_text().split() != silent):
        write_text(asked, "\n".join(silent) + "\n")
        restart_smbd(run)
        return True
    if changed:
        must(run, ["smbcontrol", "smbd", "reload-config"])
    return changed
