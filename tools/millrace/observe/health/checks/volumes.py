# SPDX-License-Identifier: Apache-2.0
"""Are the volumes served that should be, and is their space their own? No check opens the pool."""

from millrace.observe.health.host import Host
from millrace.observe.health.model import Finding, Level
from millrace.serve.volume.configfs import Nvmet
from millrace.serve.volume.model import NSID, VolumeList, VolumeRow
from millrace.serve.volume.serve import UNIT
from millrace.system import paths
from millrace.system.documents import read_model
from millrace.system.text import size

NAME = "volumes"

AGAIN = f"systemctl reload-or-restart {UNIT}; if it fails: journalctl -u {UNIT}"


def check(host: Host) -> list[Finding]:
    """Return what is wrong with each volume, else one finding; nothing where there is none."""
    if host.pool is None or not paths.volumes_file().exists():
        return []
    found = read_model(paths.volumes_file(), VolumeList).volumes
    tree = Nvmet()
    findings = [finding for one in found for finding in (*_served(one, tree, host), *_space(one))]
    if findings:
        return findings
    exported = sum(one.export is not None for one in found)
    sentence = f"{len(found)} volume{'s' if len(found) != 1 else ''}, {exported} exported."
    return [Finding(check=NAME, level=Level.OK, sentence=sentence)]


def _served(one: VolumeRow, tree: Nvmet, host: Host) -> list[Finding]:
    if one.export is None:
        return []
    problem = one.problem
    if tree.read(f"subsystems/{one.nqn}/namespaces/{NSID}/enable") != "1":
        problem = "it is not exported"
    elif not any(one.nqn in tree.names(f"ports/{port}/subsystems") for port in tree.names("ports")):
        problem = "it listens on no address"
    if problem is None:
        return []
    return [host.absent(NAME, f"Volume {one.name} is not served: {problem}.", AGAIN, "not-served", one.name)]


def _space(one: VolumeRow) -> list[Finding]:
    if one.allocated >= one.size:
        return []
    sentence = (
        f"Volume {one.name} has {size(one.allocated)} of its {size(one.size)} allocated: its host discarded the rest, "
        "and others have taken the space. Its host can get write errors."
    )
    todo = f"Free space on the pool; then: {AGAIN}"
    return [Finding(check=NAME, kind="space", subject=one.name, level=Level.WARN, sentence=sentence, todo=todo)]
