# SPDX-License-Identifier: Apache-2.0
"""Make the files say what is desired, and tell the servers that run."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from millrace import command, paths, store
from millrace.command import Result
from millrace.errors import Failed
from millrace.plan.model import Plan
from millrace.share import nfs, smb
from millrace.share.interfaces import Interface
from millrace.share.model import RenderReport, Share

Runner = Callable[[Sequence[str]], Result]


def apply(
    plan: Plan, shares: Sequence[Share], ports: Sequence[Interface], run: Runner = command.attempt
) -> RenderReport:
    """Create the directories, write what changed, reload what runs. The caller has verified the pool.

    NFS comes first: an smb.conf that Samba refuses raises Failed, keeps the old one and leaves NFS serving.
    """
    for share in shares:
        _create_directory(paths.ROOT / share.path.lstrip("/"))
    changed, reloaded = [], []
    files = {
        nfs.SETTINGS: nfs.settings(plan.nfsd, nfs.has_rdma_device()),
        nfs.ENVIRONMENT: nfs.environment(plan.nfsd),
        nfs.EXPORTS: nfs.exports(shares),
    }
    changed += [name for name, text in files.items() if store.write_text(paths.ROOT / name, text)]
    if _is_active("nfs-server.service", run):
        _tell(["exportfs", "-ra"], run)
        reloaded.append("nfs-server.service")
    told = _apply_smb(smb.configuration(shares, ports), run)
    if told is not None:
        changed.append(smb.CONFIGURATION)
        reloaded += told
    warnings = [f"{share.name} is not exported: {share.obstacle}" for share in shares if share.obstacle]
    return RenderReport(changed=[f"/{name}" for name in changed], reloaded=reloaded, warnings=warnings)


def _apply_smb(text: str, run: Runner) -> list[str] | None:
    """The services that were told, or None if smb.conf already says `text`."""
    target = paths.ROOT / smb.CONFIGURATION
    before = target.read_text() if target.is_file() else ""
    if text == before:
        return None
    smb.validate(text, run)
    store.write_text(target, text)
    if not _is_active("smbd.service", run):
        return []
    # smbd opens its listeners once; anything else it takes on while clients stay connected.
    same_listeners = smb.listeners(text) == smb.listeners(before)
    # Without waiting: smbd is ordered after the unit that this runs in.
    restart = ["systemctl", "restart", "--no-block", "smbd.service"]
    _tell(["smbcontrol", "smbd", "reload-config"] if same_listeners else restart, run)
    return ["smbd.service"]


def _create_directory(path: Path) -> None:
    """Everyone may create, only owners delete; the mode of a directory that exists is its users' choice."""
    if path.is_dir():
        return
    mask = os.umask(0)
    try:
        # In one step: a power cut between mkdir and chmod would leave a mode that nobody chose.
        path.mkdir(0o1777)
    except FileExistsError as error:
        raise Failed(f"{path} is in the way of a share: it is not a directory, move it elsewhere") from error
    finally:
        os.umask(mask)


def _is_active(unit: str, run: Runner) -> bool:
    return run(["systemctl", "is-active", "--quiet", unit]).status == 0


def _tell(argv: Sequence[str], run: Runner) -> None:
    result = run(argv)
    if result.status != 0:
        words = (result.err.strip() or result.out.strip() or "no message").splitlines()[-1]
        raise Failed(f"{' '.join(argv)} failed with status {result.status}: {words}")
