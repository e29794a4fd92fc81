# SPDX-License-Identifier: Apache-2.0
"""A member that was away and is back: md leaves it out of the start, its bitmap knows what it has to catch up on."""

from millrace.plan.labels import array_path
from millrace.provision import md
from millrace.provision.gather import carriers
from millrace.provision.model import ArrayRecord
from millrace.provision.superblock import examine
from millrace.provision.system import System


def bring_back(system: System, record: ArrayRecord) -> list[str]:
    """Re-add what carries the UUID of a running array and is no member of it; a sentence for each."""
    active = md.find(system, record.uuid)
    if active is None or record.array.over_arrays:
        return []
    live = system.md_members(active.device)
    slots, names = {one.slot for one in live}, {one.name for one in live}
    said = []
    for name, one in carriers(system, record).items():
        if name in names:
            continue
        block = examine(system, name)
        if block is None or block.slot is None or block.slot in slots:
            said.append(f"{one.serial} ({name}) was a member and is ignored: the array has a replacement")
            continue
        result = system.attempt(["mdadm", array_path(record.array.name), "--re-add", f"/dev/{name}"])
        said.append(
            f"{one.serial} returned and is resyncing"
            if result.status == 0
            else f"{one.serial} ({name}) returned and cannot be re-added; to rebuild it: "
            f"mdadm {array_path(record.array.name)} --add /dev/{name}"
        )
    return said
