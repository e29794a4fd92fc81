# SPDX-License-Identifier: Apache-2.0
"""A quota project of XFS for each share: its limit, and how much it holds."""

import re
from collections.abc import Sequence

from millrace import paths
from millrace.errors import Failed
from millrace.provision.model import Pool
from millrace.share import rendered
from millrace.share.model import Share
from millrace.share.tools import Runner, last_words

PROJECTS = "etc/projects"
PROJECT_NAMES = "etc/projid"

_HEADER = "# Rendered by `millrace share render`: the quota projects of the shares.\n"


def projects(shares: Sequence[Share]) -> str:
    """The text of /etc/projects: which directory is which project."""
    return _HEADER + "".join(f"{share.project}:{share.path}\n" for share in shares)


def project_names(shares: Sequence[Share]) -> str:
    """The text of /etc/projid: the names of the projects."""
    return _HEADER + "".join(f"{share.name}:{share.project}\n" for share in shares)


def enabled(mountpoint: str) -> bool:
    """Whether the pool is mounted with project quotas; only its next mount can change that."""
    path = paths.ROOT / "proc/1/mounts"
    found: list[str] = []
    for line in path.read_text().splitlines() if path.exists() else []:
        fields = line.split()
        if fields[1] == mountpoint:
            found = fields[3].split(",")
    return bool({"prjquota", "pquota"} & set(found))


def assign(share: Share, pool: Pool, run: Runner, anew: bool) -> None:
    """Make the directory of a share its project, and set its limits. Failed says what XFS did not take.

    What was done is remembered, as it means a walk over everything in the tree: a walk that was cut short is done over.
    `anew` does it in any case.
    """
    mountpoint = pool.filesystem.mountpoint
    tree = f"{pool.filesystem_uuid}/{share.name}"
    before = rendered.load().quotas.get(tree, "").partition(" ")
    project, limits = str(share.project), _limits(share)
    if not anew and (before[0], before[2]) == (project, limits):
        return
    if anew or before[0] != project:
        _must(run, f"project -s -p {share.path} {project}", mountpoint)
    _must(run, f"limit -p {limits} {project}", mountpoint)
    rendered.set_quota(tree, f"{project} {limits}")


def release(project: int, mountpoint: str, run: Runner) -> None:
    """Take the limits off the tree of a share that is gone; its data stays and may still be moved."""
    run(_quota(f"limit -p bsoft=0 bhard=0 {project}", mountpoint))


def usage(mountpoint: str, run: Runner) -> dict[int, int]:
    """Bytes held by each project; empty where quotas are off. Failed if they are on and XFS does not say."""
    if not enabled(mountpoint):
        return {}
    return parse_report(_must(run, "report -p -n -N -b", mountpoint))


def parse_report(text: str) -> dict[int, int]:
    """Bytes by project from `report -p -n -N -b`, which counts in KiB."""
    found = {}
    for line in text.splitlines():
        match = re.match(r"#(\d+)\s+(\d+)\s", line)
        if match:
            found[int(match[1])] = int(match[2]) * 1024
    return found


def _limits(share: Share) -> str:
    # 0 is no limit. With a suffix: a bare number means blocks to some versions.
    return f"bsoft={(share.soft_size or 0) // 1024}k bhard={(share.size or 0) // 1024}k"


def _must(run: Runner, command: str, mountpoint: str) -> str:
    """xfs_quota 7.2 ends with 0 after most of its errors; they all say "cannot", its warnings do not."""
    result = run(_quota(command, mountpoint))
    complaint = next((line for line in result.err.splitlines() if "cannot" in line), None)
    if result.status != 0 or complaint:
        raise Failed(f"xfs_quota {command.split(maxsplit=1)[0]}: {complaint or last_words(result)}")
    return result.out


def _quota(command: str, mountpoint: str) -> list[str]:
    return ["xfs_quota", "-x", "-c", command, mountpoint]
