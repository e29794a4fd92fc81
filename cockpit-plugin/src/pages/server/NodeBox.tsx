// SPDX-License-Identifier: Apache-2.0
/** One NUMA node: its ports above, its processor in the middle, its drives below, as they hang off it. */
import { useId, type JSX } from "react";
import { Title } from "@patternfly/react-core/dist/esm/components/Title/index.js";
import type { Topology, TopologyNode } from "../../types/millrace";
import { cpuList } from "../../lib/cpus";
import { binary } from "../../lib/format";
import { _, format, ngettext } from "../../lib/i18n";
import { DriveTile } from "./DriveTile";
import { about, byBay, farNodes, nodeName } from "./model";
import { PortTile } from "./PortTile";

export function NodeBox({ node, topology, colours, chosen, choose }: {
    node: TopologyNode; topology: Topology; colours: Map<string, number>; chosen: string | undefined; choose: (id: string) => void;
}): JSX.Element {
    const id = useId();
    const far = farNodes(topology.nodes).includes(node);
    const findings = node.node === null ? [] : about(topology.findings, "nodes", node.node).filter(({ where }) => where.drives.length + where.ports.length === 0);
    return (
        <section className={`mr-node${far ? " mr-node-far" : ""}`} aria-labelledby={id} data-testid={`node-${node.node ?? "unknown"}`} data-far={far}>
            <Title headingLevel="h2" size="md" id={id}>{nodeName(node, topology.nodes)}
                {node.node !== null && <small className="mr-subtle"> {format(_("NUMA node $0"), node.node)}</small>}</Title>
            {(node.ports.length > 0 || node.node !== null) && <div className="mr-zone mr-zone-ports" role="group" aria-label={_("Network ports")}>
                {node.ports.map((port) => (
                    <PortTile key={port.name} port={port} findings={about(topology.findings, "ports", port.name)} chosen={chosen === `port ${port.name}`}
                        choose={() => choose(`port ${port.name}`)} />
                ))}
                {node.ports.length === 0 && node.node !== null && (
                    <p className="mr-absent">{far
                        ? _("No network port on this node: all traffic crosses NUMA nodes.")
                        : _("No network port on this node")}</p>
                )}
            </div>}
            {node.node !== null && <Processor node={node} />}
            {findings.map((one) => <p key={one.what} className={`mr-note mr-note-${one.severity}`}>{one.what}</p>)}
            <div className="mr-zone mr-bays" role="group" aria-label={_("Drives")}>
                {byBay(node.drives).map((drive) => (
                    <DriveTile key={drive.serial || drive.name} drive={drive} colours={colours} findings={about(topology.findings, "drives", drive.serial)}
                        chosen={chosen === `drive ${drive.serial}`} choose={() => choose(`drive ${drive.serial}`)} />
                ))}
                {node.drives.length === 0 && <p className="mr-absent">{_("No drives on this node")}</p>}
            </div>
        </section>
    );
}

function Processor({ node }: { node: TopologyNode }): JSX.Element {
    const interrupts = new Set(node.ports.flatMap(({ irq_cpus }) => cpuList(irq_cpus)));
    const cpus = cpuList(node.cpus);
    const here = cpus.filter((cpu) => interrupts.has(cpu));
    const elsewhere = [...interrupts].filter((cpu) => !cpus.includes(cpu));
    const { threads } = node.nfsd;
    return (
        <div className="mr-cpu">
            <div className="mr-cells" role="img" aria-label={format(
                ngettext("$0 CPU, $1 of it handles NIC interrupts", "$0 CPUs, $1 of them handle NIC interrupts", cpus.length),
                cpus.length, here.length)}>
                {cpus.map((cpu) => <span key={cpu} className={interrupts.has(cpu) ? "mr-cell mr-cell-irq" : "mr-cell"} title={format(_("CPU $0"), cpu)} />)}
            </div>
            <ul className="mr-facts">
                <li>{format(_("CPUs $0"), node.cpus)}</li>
                <li>{format(_("$0 RAM"), binary(node.memory_bytes))}</li>
                <li>{here.length > 0
                    ? format(ngettext("$0 CPU handles NIC interrupts", "$0 CPUs handle NIC interrupts", here.length), here.length)
                    : _("no CPU handles NIC interrupts")}</li>
                <li>{threads > 0
                    ? format(ngettext("$0 NFS thread on CPUs $1", "$0 NFS threads on CPUs $1", threads), threads, node.nfsd.cpus ?? node.cpus)
                    : _("no NFS threads on this node")}</li>
                {elsewhere.length > 0 && <li className="mr-note-warn">{format(_("interrupts also on CPUs of a remote node: $0"), elsewhere.join(", "))}</li>}
            </ul>
        </div>
    );
}
