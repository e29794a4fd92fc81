# SPDX-License-Identifier: Apache-2.0
"""A quota project of XFS for each share: its limit and its usage."""

import json
import os
import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from millrace.serve.render import rendered
from millrace.serve.render.registry import Say, silent
from millrace.serve.share import child_quota, project_walk
from millrace.serve.share.model import Share
from millrace.serve.share.project_walk import XFS, Projects
from millrace.storage.record.model import Pool
from millrace.system import paths
from millrace.system.errors import Failed, MillraceError
from millrace.system.files import describe
from millrace.system.mounts import mounted
from millrace.system.run import Runner, last_words
from millrace.system.text import one_line
from millrace.system.trees import nofollow

PROJECTS = "etc/projects"
PROJECT_NAMES = "etc/projid"

# Empty files take no blocks of the limit and room all the same, so a limit of bytes bounds inodes, too: far above what
# datasets of small files have.
BYTES_AN_INODE = 16 << 10
LEAST_INODES = 1 << 20

WALK_SECONDS = 1800
TOO_LONG = (
    f"the walk over its files did not end in {WALK_SECONDS // 60} minutes: has it tens of millions of them? "
    "`millrace share render` tries again"
)
HELD_SECONDS = 120
"""How long clients may take to return delegations of files: the kernel ends a lease sooner."""
# Most of their time they wait for the log of XFS, or for inodes that were not read yet.
_THREADS = min(16, 2 * (os.cpu_count() or 1))

_HEADER = "# Rendered by `millrace share render`: the quota projects of the shares.\n"


def projects(shares: Sequence[Share]) -> str:
    """Return the text of /etc/projects: the directory of each project."""
    return _HEADER + "".join(f"{share.project}:{share.path}\n" for share in shares)


def project_names(shares: Sequence[Share]) -> str:
    """Return the text of /etc/projid: the names of the projects."""
    return _HEADER + "".join(f"{share.name}:{share.project}\n" for share in shares)


def pool_size(mountpoint: str) -> int | None:
    """Return the size of the pool in bytes; None where it is not mounted or cannot be asked."""
    try:
        space = os.statvfs(paths.ROOT / mountpoint.lstrip("/")) if mounted(mountpoint) is not None else None
    except OSError:
        return None
    return space.f_blocks * space.f_frsize if space is not None else None


def enabled(mountpoint: str) -> bool:
    """Whether the pool is mounted with project quotas; only its next mount can change that."""
    found = mounted(mountpoint)
    return found is not None and not {"prjquota", "pquota"}.isdisjoint(found.options)


def assign(
    shares: Sequence[Share],
    pool: Pool,
    run: Runner,
    created: Collection[str] = (),
    projects: Projects = XFS,
    pause: Callable[[float], None] = time.sleep,
    say: Say = silent,
) -> list[str]:
    """Make the directories of shares their projects, and set their limits; return what XFS did not accept, in words.

    What was done is recorded, since it walks over everything in a tree: a walk that was interrupted is repeated. Shares
    named in `created` are done in any case. Failed: it cannot be recorded.
    """
    mountpoint = pool.filesystem.mountpoint
    known = rendered.load().quotas
    due: dict[str, Share] = {}
    walks: list[str] = []
    for share in shares:
        tree = _tree(share.name, pool)
        project, _, limits = known.get(tree, "").partition(" ")
        if share.name in created or (project, limits) != (str(share.project), _limits(share)):
            due[tree] = share
            if share.name in created or project != str(share.project):
                walks.append(tree)
    refused = _limit(due, mountpoint, run)
    # Limits come first: what clients write during the walk is bounded, too.
    deadline = time.monotonic() + WALK_SECONDS
    due_walks = [tree for tree in walks if tree not in refused]
    for number, tree in enumerate(due_walks, 1):
        say(f"Counting files of {due[tree].name} for its quota ({number} of {len(due_walks)} shares)")
        complaint = _count(due[tree], projects, pause, deadline)
        if complaint:
            refused[tree] = complaint
    done = {tree: f"{share.project} {_limits(share)}" for tree, share in due.items() if tree not in refused}
    if done:
        rendered.set_quotas(done)
    return [f"the quota of {due[tree].name} is not set: {complaint}" for tree, complaint in refused.items()]


def _limit(due: Mapping[str, Share], mountpoint: str, run: Runner) -> dict[str, str]:
    """Set the limits of trees; return why XFS refuses some of them, in words."""
    commands = {tree: f"limit -p {_limits(share)} {share.project}" for tree, share in due.items()}
    # One process for all: 200 shares in one change are 200 commands. One by one only to find which was refused.
    if not due or _attempt(run, list(commands.values()), mountpoint)[1] is None:
        return {}
    answers = {tree: _attempt(run, [own], mountpoint)[1] for tree, own in commands.items()}
    return {tree: complaint for tree, complaint in answers.items() if complaint}


def _count(share: Share, projects: Projects, pause: Callable[[float], None], deadline: float) -> str | None:
    """Count everything in the directory of a share to its project; return why that failed, in words.

    `deadline` is when the walk has to end, in seconds of the monotonic clock.
    """

    def tick() -> None:
        if time.monotonic() >= deadline:
            raise Failed(TOO_LONG)

    try:
        tick()
        with nofollow.directory(paths.ROOT / share.path.lstrip("/")) as top:
            held = project_walk.count(top, share.project, projects, _THREADS, tick)
            for _ in range(HELD_SECONDS):
                if not held:
                    return None
                tick()
                pause(1)
                held = project_walk.again(top, held, share.project, projects)
    except MillraceError as error:
        return str(error)
    except OSError as error:
        return describe(error)
    return f"clients hold {len(held)} of its files: `millrace share render` tries again" if held else None


def cap(project: int, most: int, mountpoint: str, run: Runner) -> None:
    """Limit a project to `most` bytes. Failed: XFS refuses it."""
    complaint = _attempt(run, [f"limit -p bsoft=0 bhard={most // 1024}k ihard=0 {project}"], mountpoint)[1]
    if complaint:
        raise Failed(complaint)


def bound(project: int, share: Share, mountpoint: str, run: Runner) -> None:
    """Limit a project as a share is limited. Failed: XFS refuses it."""
    complaint = _attempt(run, [f"limit -p {_limits(share)} {project}"], mountpoint)[1]
    if complaint:
        raise Failed(complaint)


def release(project: int, mountpoint: str, run: Runner) -> None:
    """Remove the limits of the tree of a removed share; its data remains and may still be moved.

    `project` is the number of its quota project.
    """
    run(_quota([f"limit -p bsoft=0 bhard=0 ihard=0 {project}"], mountpoint))


def forget(name: str, pool: Pool) -> None:
    """Forget what was set on the tree of a removed share: an import or a rollback that has it again sets its limits."""
    rendered.forget_quota(_tree(name, pool))


def lift(projects: Sequence[int], mountpoint: str, run: Runner) -> None:
    """Remove the limits of all directories of shares that had a quota each. Failed: XFS refuses it."""
    if not projects:
        return
    out, complaint = _attempt(run, ["report -p -n -N -b"], mountpoint)
    limited = [project for project in parse_report(out) if child_quota.parent(project) in projects]
    for start in range(0, len(limited), child_quota.BATCH):
        commands = [
            f"limit -p bsoft=0 bhard=0 ihard=0 {project}" for project in limited[start : start + child_quota.BATCH]
        ]
        complaint = complaint or _attempt(run, commands, mountpoint)[1]
    if complaint:
        raise Failed(complaint)


def usage(mountpoint: str, run: Runner) -> dict[int, int]:
    """Return the bytes used by each project; empty where quotas are off. Failed: they are on and cannot be read."""
    if not enabled(mountpoint):
        return {}
    out, complaint = _attempt(run, ["report -p -n -N -b"], mountpoint)
    if complaint:
        raise Failed(complaint)
    return _with_children(parse_report(out))


def inodes_used(project: int, mountpoint: str, run: Runner) -> int:
    """Return the files and directories that count to a share. Failed: XFS does not report them."""
    out, complaint = _attempt(run, ["report -p -n -N -i"], mountpoint)
    if complaint:
        raise Failed(complaint)
    # the report has numbers here, and no KiB
    return _with_children({found: count // 1024 for found, count in parse_report(out).items()}).get(project, 0)


def _with_children(used: Mapping[int, int]) -> dict[int, int]:
    """Count what directories of a share with projects of their own use to the share, too."""
    found = dict(used)
    for project, count in used.items():
        share = child_quota.parent(project)
        if share is not None:
            found[share] = found.get(share, 0) + count
    return found


def children(shares: Sequence[Share], mountpoint: str) -> str:
    """Return the text of what millrace-child-quota.service is to watch."""
    watched = [
        {
            "name": share.name,
            "path": share.path,
            "project": share.project,
            "kib": (share.child_size or 0) // 1024,
            "inodes": inodes_of(share.child_size),
        }
        for share in shares
        if share.child_size
    ]
    return json.dumps({"mountpoint": mountpoint, "shares": watched}, indent=2) + "\n"


def child_quota_problems() -> list[str]:
    """Return why directories have no quota of their own, in words; none where nothing is known of them."""
    try:
        found = json.loads(paths.child_quota_file().read_text())["problems"]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return [one_line(str(one)) for one in found] if isinstance(found, list) else []


class Room(NamedTuple):
    """What is left of the limits of a project; None is no limit."""

    bytes: int | None
    inodes: int | None


def room(project: int, mountpoint: str, run: Runner) -> Room:
    """Return what is left of the hard limits of a project. Failed: XFS does not report them."""
    amounts = []
    for what, unit in (("-b", 1024), ("-i", 1)):
        out, complaint = _attempt(run, [f"report -p -n -N {what}"], mountpoint)
        if complaint:
            raise Failed(complaint)
        match = re.search(rf"^#{project}\s+(\d+)\s+\d+\s+(\d+)\s", out, re.MULTILINE)
        used, hard = (int(match[1]), int(match[2])) if match else (0, 0)
        amounts.append(max(hard - used, 0) * unit if hard else None)
    return Room(*amounts)


def expect(name: str, project: int, pool: Pool) -> None:
    """Record that everything in the directory of a share that is about to be created has its project already."""
    rendered.set_quotas({f"{pool.filesystem_uuid}/{name}": f"{project} "})


def parse_report(text: str) -> dict[int, int]:
    """Return bytes by project from `report -p -n -N -b`, which counts in KiB."""
    found = {}
    for line in text.splitlines():
        match = re.match(r"#(\d+)\s+(\d+)\s", line)
        if match:
            found[int(match[1])] = int(match[2]) * 1024
    return found


def inodes(share: Share) -> int:
    """Return the most files and directories that a share may hold; 0 is no limit, as where its size has none."""
    return inodes_of(share.size or share.soft_size)


def inodes_of(size: int | None) -> int:
    """Return the most files and directories below a limit of `size` bytes; 0 is no limit."""
    return max(LEAST_INODES, size // BYTES_AN_INODE) if size else 0


def _limits(share: Share) -> str:
    # 0 is no limit. Blocks with a suffix: a bare number means blocks to some versions.
    return f"bsoft={(share.soft_size or 0) // 1024}k bhard={(share.size or 0) // 1024}k ihard={inodes(share)}"


def _tree(name: str, pool: Pool) -> str:
    return f"{pool.filesystem_uuid}/{name}"


def _attempt(run: Runner, commands: Sequence[str], mountpoint: str) -> tuple[str, str | None]:
    """Output and error. xfs_quota 7.2 ends with 0 after most errors: they all have "cannot", warnings do not."""
    result = run(_quota(commands, mountpoint))
    complaint = next((line for line in result.err.splitlines() if "cannot" in line), None)
    if result.status != 0 or complaint:
        return result.out, f"xfs_quota {commands[0].split(maxsplit=1)[0]}: {complaint or last_words(result)}"
    return result.out, None


def _quota(commands: Sequence[str], mountpoint: str) -> list[str]:
    return ["xfs_quota", "-x", *(word for command in commands for word in ("-c", command)), mountpoint]
