// SPDX-License-Identifier: Apache-2.0
/** In one sentence: do clients reach all drives without crossing between processors? */
import type { JSX } from "react";
import type { Topology } from "../../types/millrace";
import { Verdict } from "../../components/Health";
import { _, format, ngettext } from "../../lib/i18n";
import { dataDrives, farNodes, nodeName, portsWithLink } from "./model";

export function PathVerdict({ topology }: { topology: Topology }): JSX.Element {
    const placed = topology.nodes.filter(({ node }) => node !== null);
    const linked = placed.filter((node) => portsWithLink(node).length > 0);
    const far = farNodes(topology.nodes);
    const all = placed.reduce((sum, node) => sum + dataDrives(node).length, 0);
    const crossing = far.reduce((sum, node) => sum + dataDrives(node).length, 0);
    if (linked.length === 0)
        return <Verdict id="path" level="UNKNOWN" title={_("The NUMA node of the connected network ports is unknown")} />;
    if (far.length === 0)
        return (
            <Verdict id="path" level="OK" title={placed.length > 1
                ? _("Every CPU socket with drives has a network port")
                : _("Drives and network ports are on the same NUMA node")} />
        );
    const names = (nodes: typeof far) => nodes.map((node) => nodeName(node, topology.nodes)).join(", ");
    const ports = linked.flatMap(portsWithLink).map(({ name }) => name).join(", ");
    return (
        <Verdict id="path" level="WARN" title={format(
            ngettext("$0 of $1 data drives is on a remote NUMA node: all network ports are on $2",
                "$0 of $1 data drives are on a remote NUMA node: all network ports are on $2", crossing),
            crossing, all, names(linked))}>
            <p>{format(_("Client I/O to the drives on $0 crosses NUMA nodes on the way to $1."),
                names(far), ports)}</p>
        </Verdict>
    );
}
