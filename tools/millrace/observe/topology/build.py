# SPDX-License-Identifier: Apache-2.0
"""The inventory of this boot with the current links, the roles of the drives, and the state of md and the kernel."""

from collections.abc import Mapping, Sequence

from millrace.inventory.cpus import ranges
from millrace.inventory.model import Drive, DriveState, Inventory, Nic
from millrace.inventory.nics import nics
from millrace.inventory.present import present
from millrace.inventory.refresh import refreshed
from millrace.observe.health.checks.nfsd_nodes import thread_cpus
from millrace.observe.topology import parts
from millrace.observe.topology.model import NfsdThreads, Topology, TopologyArray, TopologyFinding, TopologyNode, Where
from millrace.plan.audit import audit, audited_plan
from millrace.plan.finding import PlanFinding
from millrace.plan.model import MdArray, Plan, PlanFile, Proposal, Role
from millrace.storage.array.live_arrays import live_arrays, member_states
from millrace.storage.array.live_model import LiveArray
from millrace.storage.record.model import Pool
from millrace.storage.record.pool_file import known_pool, roles
from millrace.system import paths
from millrace.system.documents import read_model
from millrace.system.errors import Refused
from millrace.system.net import Interface
from millrace.system.run import Runner
from millrace.tune.audited_pool import audited_pool


def topology(interfaces: Sequence[Interface], run: Runner) -> Topology:
    """Return the server as it is now.

    Refused: this boot has no inventory yet. `interfaces` are those with addresses.
    """
    if not paths.inventory_file().exists():
        raise Refused("no inventory of this boot: systemctl status millrace-inventory")
    at_boot = refreshed(read_model(paths.inventory_file(), Inventory), paths.ROOT)
    there = present()
    inventory = _current_inventory(at_boot, there, nics(paths.ROOT, run))
    pool = known_pool()
    proposal = None if pool else _proposal()
    audited = audited_pool(pool) if pool else audited_plan(proposal) if isinstance(proposal, Plan) else None
    arrays = _arrays(pool, proposal)
    known = _roles(at_boot, pool, proposal)
    live = live_arrays(pool, {}) if pool else []
    masks = list(thread_cpus())
    return Topology(
        cpu_model=inventory.cpu_model,
        sockets=inventory.sockets,
        nodes=_nodes(inventory, _drive_facts(known, arrays, live, there), masks, interfaces),
        arrays=[
            TopologyArray(
                name=array.name, level=array.level, role=array.role, over=array.members if array.over_arrays else []
            )
            for array in arrays
        ],
        planned=pool is None and bool(arrays),
        nfsd=_floating(masks, [node.cpus for node in inventory.nodes]),
        findings=[_finding(finding, inventory) for finding in (audit(inventory, audited) if audited else [])],
    )


def _current_inventory(at_boot: Inventory, there: Sequence[Drive], ports: Sequence[Nic]) -> Inventory:
    """The ports of now, and drives that were added since the boot: their content has not been probed yet."""
    known = {one.serial for one in at_boot.drives}
    new = [one for one in there if one.serial not in known]
    return at_boot.model_copy(update={"nics": list(ports), "drives": [*at_boot.drives, *new]})


def _proposal() -> Proposal | None:
    """What this boot proposes."""
    return read_model(paths.plan_file(), PlanFile).proposal if paths.plan_file().exists() else None


def _arrays(pool: Pool | None, proposal: Proposal | None) -> list[MdArray]:
    if pool is not None:
        return [record.array for record in pool.arrays]
    return proposal.arrays if isinstance(proposal, Plan) else []


def _roles(inventory: Inventory, pool: Pool | None, proposal: Proposal | None) -> dict[str, Role]:
    """What each drive is for; one that came after the boot and is not in the pool has no role yet."""
    if pool is None:
        return {one.serial: one.role for one in proposal.drives} if proposal else {}
    others = {one.serial: Role.BOOT if one.state is DriveState.BOOT else Role.UNUSED for one in inventory.drives}
    return others | roles(pool)


def _drive_facts(
    known: Mapping[str, Role], arrays: Sequence[MdArray], live: Sequence[LiveArray], there: Sequence[Drive]
) -> parts.DriveFacts:
    return parts.DriveFacts(
        roles=known,
        places=parts.places(arrays, live),
        members=member_states(live),
        present={one.serial for one in there},
    )


def _nodes(
    inventory: Inventory, known: parts.DriveFacts, masks: Sequence[set[int]], interfaces: Sequence[Interface]
) -> list[TopologyNode]:
    """The nodes of the server, and one more for what the firmware places nowhere."""
    numbers: list[int | None] = [node.id for node in inventory.nodes]
    placed = {node.id: node for node in inventory.nodes}
    lost = _node_numbers(inventory.drives, inventory.nics) - set(placed)
    if lost and len(numbers) > 1:
        numbers.append(None)
    nodes = []
    for number in numbers:
        node = placed.get(number) if number is not None else None
        # With a single node there is nowhere else to be.
        node_numbers = lost if number is None else {number} if len(numbers) > 1 else {number, *lost}
        nodes.append(
            TopologyNode(
                node=number,
                socket=node.socket if node else None,
                cpus=ranges(node.cpus) if node else "",
                cores=node.cores if node else 0,
                memory_bytes=node.memory if node else 0,
                drives=[parts.drive(drive, known) for drive in inventory.drives if drive.numa_node in node_numbers],
                ports=[parts.port(nic, interfaces) for nic in inventory.nics if nic.numa_node in node_numbers],
                nfsd=_pinned(masks, node.cpus if node else []),
            )
        )
    return nodes


def _node_numbers(drives: Sequence[Drive], ports: Sequence[Nic]) -> set[int | None]:
    return {one.numa_node for one in drives} | {one.numa_node for one in ports}


def _finding(finding: PlanFinding, inventory: Inventory) -> TopologyFinding:
    """A finding names serials and PCI addresses in its subject; a card's address is without the function of a port."""
    words = {word.strip() for word in finding.subject.split(",")}
    drives = [drive for drive in inventory.drives if drive.serial in words]
    ports = [nic for nic in inventory.nics if words & {nic.name, nic.pci_address, _card(nic.pci_address)}]
    return TopologyFinding(
        name=finding.name,
        severity=finding.severity,
        subject=finding.subject,
        what=finding.what,
        todo=finding.todo,
        where=Where(
            drives=[drive.serial for drive in drives],
            ports=[port.name for port in ports],
            nodes=sorted(node for node in _node_numbers(drives, ports) if node is not None),
        ),
    )


def _card(address: str | None) -> str | None:
    return address.rpartition(".")[0] if address else None


def _pinned(masks: Sequence[set[int]], cpus: Sequence[int]) -> NfsdThreads:
    """The threads that may run on these CPUs and no others."""
    return _nfsd_threads([mask for mask in masks if mask <= set(cpus)])


def _floating(masks: Sequence[set[int]], nodes: Sequence[Sequence[int]]) -> NfsdThreads:
    """The threads that no node keeps for itself."""
    return _nfsd_threads([mask for mask in masks if not any(mask <= set(cpus) for cpus in nodes)])


def _nfsd_threads(found: Sequence[set[int]]) -> NfsdThreads:
    cpus = sorted(set().union(*found))
    return NfsdThreads(threads=len(found), cpus=ranges(cpus) if found else None)
