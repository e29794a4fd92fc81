# SPDX-License-Identifier: Apache-2.0
"""Are all exported volumes served, and is their space fully allocated? No check opens the pool."""

from millrace.observe.health.host import Host
from millrace.observe.health.model import HealthFinding, Level
from millrace.serve.volume.configfs import Nvmet
from millrace.serve.volume.model import NSID, VolumeList, VolumeRow
from millrace.serve.volume.serve import UNIT
from millrace.system import paths
from millrace.system.documents import read_model
from millrace.system.text import size

NAME = "volumes"

AGAIN = f"systemctl reload-or-restart {UNIT}; if it fails: journalctl -u {UNIT}"


def check(host: Host) -> list[HealthFinding]:
    """Return what is wrong with each volume, else one finding; nothing where there is none."""
    if host.pool is None or not paths.volumes_file().exists():
        return []
    volumes = read_model(paths.volumes_file(), VolumeList).volumes
    tree = Nvmet()
    findings = [finding for volume in volumes for finding in (*_served(volume, tree, host), *_space(volume))]
    if findings:
        return findings
    exported = sum(volume.export is not None for volume in volumes)
    sentence = f"{len(volumes)} volume{'s' if len(volumes) != 1 else ''}, {exported} exported."
    return [HealthFinding(check=NAME, level=Level.OK, sentence=sentence)]


def _served(volume: VolumeRow, tree: Nvmet, host: Host) -> list[HealthFinding]:
    if volume.export is None:
        return []
    problem = volume.problem
    if tree.read(f"subsystems/{volume.nqn}/namespaces/{NSID}/enable") != "1":
        problem = "it is not exported"
    elif not any(volume.nqn in tree.names(f"ports/{port}/subsystems") for port in tree.names("ports")):
        problem = "it listens on no address"
    if problem is None:
        return []
    return [host.absent(NAME, f"Volume {volume.name} is not served: {problem}.", AGAIN, "not-served", volume.name)]


def _space(one: VolumeRow) -> list[HealthFinding]:
    if one.allocated >= one.size:
        return []
    sentence = (
        f"Volume {one.name} has {size(one.allocated)} of its {size(one.size)} allocated: its host discarded the rest, "
        "and others have taken the space. Its host can get write errors."
    )
    todo = f"Free space on the pool; then: {AGAIN}"
    return [HealthFinding(check=NAME, kind="space", subject=one.name, level=Level.WARN, sentence=sentence, todo=todo)]
