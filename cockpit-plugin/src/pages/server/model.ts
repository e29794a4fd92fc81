// SPDX-License-Identifier: Apache-2.0
/** What the drawing of the server needs of `millrace topology`, without deciding anything. */
import type { Topology, TopologyDrive, TopologyFinding, TopologyNode } from "../../types/millrace";
import { tones } from "../../lib/tones";
import { _, format } from "../../lib/i18n";

/** The smallest thing that a drive is part of and that has a colour of its own: the leg, else the array. */
export function groupOf(drive: TopologyDrive): string | null {
    return drive.leg ?? drive.array;
}

/** Colours of arrays, and of legs instead of the array over them. */
export function groupTones(topology: Topology): Map<string, number> {
    return tones(topology.arrays.flatMap(({ name, over }) => (over.length > 0 ? over : [name])));
}

/** Drives as they sit in the front: by bay, those without one last. */
export function byBay(drives: readonly TopologyDrive[]): TopologyDrive[] {
    return [...drives].sort((a, b) => (a.bay ?? "~").localeCompare(b.bay ?? "~", undefined, { numeric: true }) || a.name.localeCompare(b.name));
}

/** Drives that hold what clients read and write, in the pool or in the plan. */
export function dataDrives(node: TopologyNode): TopologyDrive[] {
    return node.drives.filter(({ array, role }) => array !== null && role === "data");
}

export function portsWithLink(node: TopologyNode): TopologyNode["ports"] {
    return node.ports.filter(({ link }) => link);
}

/** A processor has one node or several; crossing between the nodes of one costs little. */
const place = ({ node, socket }: TopologyNode): string => (socket === null ? `node ${node ?? ""}` : `socket ${socket}`);

/** Nodes with data drives that are reached through another processor only: no port of theirs has a link, others have. */
export function farNodes(nodes: readonly TopologyNode[]): TopologyNode[] {
    const placed = nodes.filter(({ node }) => node !== null);
    const served = new Set(placed.filter((node) => portsWithLink(node).length > 0).map(place));
    return served.size === 0 ? [] : placed.filter((node) => !served.has(place(node)) && dataDrives(node).length > 0);
}

/** "Processor 1", or its node where it has several. */
export function nodeName(node: TopologyNode, nodes: readonly TopologyNode[]): string {
    if (node.node === null) return _("Unknown location");
    const alone = node.socket !== null && nodes.filter(({ socket }) => socket === node.socket).length === 1;
    if (alone) return format(_("Socket $0"), node.socket ?? "");
    return node.socket === null ? format(_("NUMA node $0"), node.node) : format(_("Socket $0, NUMA node $1"), node.socket, node.node);
}

/** Findings about this thing. */
export function about(findings: readonly TopologyFinding[], kind: "drives" | "ports" | "nodes", id: string | number): TopologyFinding[] {
    return findings.filter(({ where }) => (where[kind] as (string | number)[]).includes(id));
}

export function slower(link: { gts: number; width: number; gts_most: number; width_most: number } | null): boolean {
    return link !== null && (link.gts < link.gts_most || link.width < link.width_most);
}
