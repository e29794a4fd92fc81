// SPDX-License-Identifier: Apache-2.0
/** The server drawn: what hangs off which processor, and what of it is not as it could be. */
import { Fragment, useState, type JSX } from "react";
import { ExpandableSection } from "@patternfly/react-core/dist/esm/components/ExpandableSection/index.js";
import type { Topology } from "../../types/millrace";
import { allOf, HistoryPanel, namedLines } from "../../components/HistoryPanel";
import { PageHeader } from "../../components/PageHeader";
import { Empty, Loaded } from "../../components/States";
import { Legend } from "../../components/Tone";
import { binary } from "../../lib/format";
import { useVerb } from "../../lib/hooks";
import { _, format, ngettext } from "../../lib/i18n";
import { NO_TONE } from "../../lib/tones";
import { Findings } from "./Findings";
import { Details } from "./Details";
import { farNodes, groupTones } from "./model";
import { NodeBox } from "./NodeBox";
import { PathVerdict } from "./PathVerdict";
import { DriveTable, PortTable } from "./Tables";
import "./server.css";

/** Seconds: drives come and go, and links train again. */
const EVERY = 10;

export default function Server(): JSX.Element {
    const topology = useVerb("topology", [], { admin: "allowed", every: EVERY });
    return (
        <>
            <PageHeader title={_("Server")}>{topology.data && subtitle(topology.data)}</PageHeader>
            <Loaded of={topology} what={_("Loading hardware")}>{(data) => <Drawn topology={data} />}</Loaded>
            <HistoryPanel title={_("History of CPU and network")} testId="server-history" kinds={["cpu", "memory", "port"]} figures={[
                { title: _("CPU and memory"), lines: namedLines({ cpu: _("CPU"), memory: _("Memory") }) },
                { title: _("Received by network ports"), lines: allOf("port-receive") },
                { title: _("Sent by network ports"), lines: allOf("port-send") },
            ]} />
        </>
    );
}

function subtitle({ cpu_model, sockets, nodes }: Topology): string {
    const memory = nodes.reduce((sum, node) => sum + node.memory_bytes, 0);
    return format(ngettext("$0 CPU socket, $1, $2 RAM", "$0 CPU sockets, $1, $2 RAM", sockets), sockets, cpu_model, binary(memory));
}

function Drawn({ topology }: { topology: Topology }): JSX.Element {
    const [chosen, choose] = useState<string>();
    const [table, setTable] = useState(false);
    const colours = groupTones(topology);
    const drives = topology.nodes.flatMap((node) => node.drives);
    const ports = topology.nodes.flatMap((node) => node.ports);
    if (drives.length + ports.length === 0)
        return <Empty title={_("No drives or network ports found")}>{_("Check that cards and drives are seated and powered, then restart the server.")}</Empty>;
    const entries = [...colours].map(([name, tone]) => ({ name, tone }));
    return (
        <>
            <PathVerdict topology={topology} />
            <Legend label={_("Legend")} entries={[...entries, { name: _("not in an array"), tone: NO_TONE }]} />
            {topology.planned && entries.length > 0 && <p className="mr-subtle">{_("Planned arrays; nothing has been built yet.")}</p>}
            <div className="mr-server" data-testid="topology">
                {topology.nodes.map((node, index) => (
                    <Fragment key={node.node ?? "unknown"}>
                        {index > 0 && node.node !== null && <Between crossing={farNodes(topology.nodes).length > 0} />}
                        <NodeBox node={node} topology={topology} colours={colours} chosen={chosen}
                            choose={(id) => choose(id === chosen ? undefined : id)} />
                    </Fragment>
                ))}
            </div>
            <Details topology={topology} chosen={chosen} />
            <Findings findings={topology.findings} />
            <ExpandableSection toggleText={_("Tables")} isExpanded={table} onToggle={(_event, open) => setTable(open)}>
                {table && (
                    <>
                        <PortTable nodes={topology.nodes} />
                        <DriveTable nodes={topology.nodes} />
                    </>
                )}
            </ExpandableSection>
        </>
    );
}

/** What joins two processors; PathVerdict says the same in words. */
function Between({ crossing }: { crossing: boolean }): JSX.Element {
    return (
        <svg className={`mr-between${crossing ? " mr-crossing" : ""}`} viewBox="0 0 32 24" aria-hidden="true" data-testid="between">
            <path d="M2 12 10 4v5h12V4l8 8-8 8v-5H10v5z" />
        </svg>
    );
}
