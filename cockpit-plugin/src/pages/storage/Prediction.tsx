// SPDX-License-Identifier: Apache-2.0
/** What the server can reach at most. A layer that nobody measured is said to be not known, and may be lower. */
import { useState, type JSX } from "react";
import { ExpandableSection } from "@patternfly/react-core/dist/esm/components/ExpandableSection/index.js";
import type { PlanLayer, PlanOutcome } from "../../types/millrace";
import { DataTable } from "../../components/DataTable";
import { Panel } from "../../components/Panel";
import { rate } from "../../lib/format";
import { _, format } from "../../lib/i18n";

function way({ direction, transport }: PlanOutcome): string {
    const read = direction === "read";
    switch (transport) {
    case "tcp": return read ? _("Read, NFS over TCP") : _("Write, NFS over TCP");
    case "rdma": return read ? _("Read, NFS over RDMA") : _("Write, NFS over RDMA");
    case "smb": return read ? _("Read, SMB encrypted") : _("Write, SMB encrypted");
    }
}

export function layerName(name: PlanLayer["name"]): string {
    switch (name) {
    case "drives": return _("drives");
    case "pcie": return _("PCIe");
    case "memory": return _("memory");
    case "cpu": return _("CPU");
    case "md": return _("RAID");
    case "nic": return _("network ports");
    }
}

export function evidence(of: PlanLayer["evidence"]): string {
    switch (of) {
    case "specification": return _("data sheet");
    case "textbook": return _("formula");
    case "calibrated": return _("measured elsewhere");
    case "measured": return _("measured here");
    case "derived": return _("counted on an emulated CPU");
    case "unknown": return _("unknown");
    }
}

const unknown = (outcome: PlanOutcome): string[] => outcome.layers.filter(({ limit }) => limit === null).map(({ name }) => layerName(name));

function limitText(outcome: PlanOutcome): string {
    return outcome.limit === null ? _("unknown") : format(_("at most $0"), rate(outcome.limit));
}

export function Prediction({ outcomes }: { outcomes: PlanOutcome[] }): JSX.Element {
    const [open, setOpen] = useState(false);
    return (
        <Panel title={_("Maximum throughput")} testId="prediction">
            <p className="mr-subtle">{_("These are upper limits, not guarantees: a layer without measurement may be slower. Run the benchmark to measure all layers.")}</p>
            <DataTable label={_("Predicted limits")} rows={outcomes} rowKey={(one) => `${one.direction} ${one.transport} ${one.state}`} columns={[
                { title: _("Path"), cell: way, heads: true },
                { title: _("Arrays"), cell: ({ state }) => (state === "healthy" ? _("healthy") : _("one drive of each leg failed")) },
                { title: _("Limit"), cell: limitText, figures: true },
                { title: _("Limited by"), cell: ({ bound_by }) => (bound_by === null ? _("unknown") : layerName(bound_by)) },
                { title: _("Unknown"), cell: (one) => unknown(one).join(", ") || _("nothing") },
            ]} />
            <ExpandableSection toggleText={_("Layer by layer")} isExpanded={open} onToggle={(_event, now) => setOpen(now)}>
                {open && outcomes.map((one) => <Layers key={`${one.direction} ${one.transport} ${one.state}`} outcome={one} />)}
            </ExpandableSection>
        </Panel>
    );
}

function Layers({ outcome }: { outcome: PlanOutcome }): JSX.Element {
    const title = outcome.state === "healthy" ? way(outcome) : format(_("$0, one drive of each leg failed"), way(outcome));
    return (
        <section className="mr-layers">
            <h3>{title}</h3>
            <DataTable label={title} rows={outcome.layers} rowKey={({ name }) => name} columns={[
                { title: _("Layer"), cell: ({ name }) => layerName(name), heads: true },
                { title: _("Limit"), cell: ({ limit }) => (limit === null ? _("unknown") : rate(limit)), figures: true },
                { title: _("Evidence"), cell: (one) => evidence(one.evidence) },
                { title: _("Why"), cell: ({ reason }) => reason },
                { title: _("How to measure"), cell: ({ measure }) => measure ?? _("nothing to measure") },
            ]} />
        </section>
    );
}
