# SPDX-License-Identifier: Apache-2.0
"""Make the files say what is desired, and tell the servers that run."""

from collections.abc import Sequence

from millrace import command, paths, store
from millrace.errors import Failed
from millrace.plan.model import Plan
from millrace.provision.model import Pool
from millrace.share import directories, exports, nfs, quota, rendered, smb
from millrace.share.interfaces import Interface
from millrace.share.model import RenderReport, Share
from millrace.share.tools import Runner, is_active, must

NO_QUOTA = "the pool is mounted without project quotas: limits of shares do not hold and their usage is not known"


def apply(
    plan: Plan,
    pool: Pool,
    shares: Sequence[Share],
    ports: Sequence[Interface],
    run: Runner = command.attempt,
    force: bool = False,
) -> RenderReport:
    """Create the directories, write what changed, reload what runs. The caller has verified the pool.

    NFS comes first: an smb.conf that Samba refuses raises Failed, keeps the old one and leaves NFS serving. A file
    that was edited by hand is kept and reported, or with `force` replaced and kept aside.
    """
    warnings = [f"{share.name} is not exported: {share.obstacle}" for share in shares if share.obstacle]
    warnings += _prepare(pool, shares, run)
    drift = [name for name in _texts(plan, shares, ports) if rendered.is_edited(name)]
    changed, reloaded = [], []
    for name, text in _nfs_texts(plan, shares).items():
        if (force or name not in drift) and rendered.put(name, text):
            changed.append(name)
    if store.write_text(paths.ROOT / nfs.ENVIRONMENT, nfs.environment(plan.nfsd)):
        changed.append(nfs.ENVIRONMENT)
    warnings += [f"{path} is not of Millrace and is served beside the shares" for path in exports.foreign_files()]
    warnings += [f"the registry of Samba has the share {name}, which is not of Millrace" for name in _strangers(run)]
    if is_active("nfs-server.service", run):
        served = shares if force or nfs.EXPORTS not in drift else []
        warnings += exports.reload(served, run)
        reloaded.append("nfs-server.service")
    told = _apply_smb(smb.configuration(shares, ports), run) if force or smb.CONFIGURATION not in drift else None
    if told is not None:
        changed.append(smb.CONFIGURATION)
        reloaded += told
    return RenderReport(
        changed=[f"/{name}" for name in changed],
        reloaded=reloaded,
        warnings=warnings,
        drift=[f"/{name}" for name in drift],
    )


def _strangers(run: Runner) -> list[str]:
    """Shares in the registry, which smbd serves beside ours: nobody here puts any there."""
    result = run(["net", "conf", "listshares"])
    return [line.strip() for line in result.out.splitlines() if line.strip() not in ("", "global")]


def _nfs_texts(plan: Plan, shares: Sequence[Share]) -> dict[str, str]:
    return {
        nfs.SETTINGS: nfs.settings(plan.nfsd, nfs.has_rdma_device()),
        nfs.EXPORTS: nfs.exports(shares),
        quota.PROJECTS: quota.projects(shares),
        quota.PROJECT_NAMES: quota.project_names(shares),
    }


def _texts(plan: Plan, shares: Sequence[Share], ports: Sequence[Interface]) -> dict[str, str]:
    return {**_nfs_texts(plan, shares), smb.CONFIGURATION: smb.configuration(shares, ports)}


def _prepare(pool: Pool, shares: Sequence[Share], run: Runner) -> list[str]:
    """Directories and quotas; what XFS does not take is a warning here, as serving goes before counting."""
    made = {share.name for share in shares if directories.create(share)}
    if not quota.enabled(pool.filesystem.mountpoint):
        return [NO_QUOTA] if shares else []
    warnings = []
    for share in shares:
        try:
            quota.assign(share, pool, run, anew=share.name in made)
        except Failed as error:
            warnings.append(f"the quota of {share.name} is not set: {error}")
    return warnings


def _apply_smb(text: str, run: Runner) -> list[str] | None:
    """The services that were told, or None if smb.conf already says `text`."""
    target = paths.ROOT / smb.CONFIGURATION
    before = target.read_text() if target.is_file() else ""
    if text != before:
        smb.validate(text, run)
    if not rendered.put(smb.CONFIGURATION, text):
        return None
    if not is_active("smbd.service", run):
        return []
    # smbd opens its listeners once; anything else it takes on while clients stay connected.
    same_listeners = smb.listeners(text) == smb.listeners(before)
    # Without waiting: smbd is ordered after the unit that this runs in.
    restart = ["systemctl", "restart", "--no-block", "smbd.service"]
    must(run, ["smbcontrol", "smbd", "reload-config"] if same_listeners else restart)
    return ["smbd.service"]
