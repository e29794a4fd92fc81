// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";
import { Alert } from "@patternfly/react-core/dist/esm/components/Alert/index.js";
import { Button } from "@patternfly/react-core/dist/esm/components/Button/index.js";
import type { FigureChange, Comparison } from "../../types/millrace";
import { DataTable } from "../../components/DataTable";
import { HealthLabel } from "../../components/Health";
import { PageHeader } from "../../components/PageHeader";
import { Panel } from "../../components/Panel";
import { Loaded } from "../../components/States";
import { percent, UNKNOWN } from "../../lib/format";
import { useVerb } from "../../lib/hooks";
import { _, format } from "../../lib/i18n";
import { go } from "../../lib/route";
import { isEmulated, targetWord } from "./figures";
import { headlineWord, inUnit } from "./words";

/** Faster and slower are no health: only a loss asks for attention. */
function Verdict({ verdict }: { verdict: FigureChange["verdict"] }): JSX.Element {
    switch (verdict) {
    case "faster": return <HealthLabel level="OK">{_("faster")}</HealthLabel>;
    case "slower": return <HealthLabel level="WARN">{_("slower")}</HealthLabel>;
    case "same": return <HealthLabel level="UNKNOWN">{_("no significant difference")}</HealthLabel>;
    }
}

function where({ rung }: FigureChange): string {
    const [layer = "", target = ""] = rung.split("/");
    return `${layer} ${targetWord(target)}`;
}

function load({ rung }: FigureChange): string {
    return headlineWord({ rung, name: rung, value: 0, unit: "bytes/s" });
}

function Changes({ found, figures }: { found: Comparison; figures: boolean }): JSX.Element {
    const figure = ({ quantity }: FigureChange, value: number) =>
        (figures ? inUnit(value, quantity === "bandwidth" ? "bytes/s" : "operations/s") : UNKNOWN);
    return (
        <div className="mr-stack">
            {found.labels.map((label) => <Alert key={label} isInline variant="warning" title={label} />)}
            <DataTable label={_("Both runs")} testId="compared" rows={found.changes} rowKey={({ rung, quantity, direction }) => `${rung} ${quantity} ${direction}`} columns={[
                { title: _("Target"), heads: true, sort: where, cell: where },
                { title: _("Load"), sort: load, cell: load },
                { title: found.first, figures: true, cell: (one) => figure(one, one.first) },
                { title: found.second, figures: true, cell: (one) => figure(one, one.second) },
                { title: _("Second / first"), figures: true, sort: ({ ratio }) => ratio, cell: ({ ratio }) => percent(ratio, 1) },
                { title: _("95 % confidence interval"), figures: true, cell: ({ low, high }) => format(_("$0 to $1"), percent(low, 1), percent(high, 1)) },
                { title: _("Verdict"), sort: ({ verdict }) => verdict, cell: ({ verdict }) => <Verdict verdict={verdict} /> },
            ]} />
            {found.incomparable.length > 0 && (
                <details className="mr-details">
                    <summary>{_("Not comparable: measured in one run only, or with other settings")}</summary>
                    <ul>{found.incomparable.map((rung) => <li key={rung}><code>{rung}</code></li>)}</ul>
                </details>
            )}
        </div>
    );
}

/** Two runs side by side, with the program's verdict on each difference. */
export function CompareView({ ids: [one, other] }: { ids: [string, string] }): JSX.Element {
    const found = useVerb("bench compare", [one, other]);
    const list = useVerb("bench list");
    // Until it is known what servers these are, only relations are shown.
    const both = [one, other].map((id) => list.data?.runs.find((run) => run.id === id));
    const figures = both.every((run) => run !== undefined && !isEmulated(run.labels));
    return (
        <>
            <PageHeader title={format(_("$0 and $1"), one, other)} actions={<Button variant="secondary" onClick={() => go(["benchmark"])}>{_("All runs")}</Button>} />
            <Panel title={_("Both runs")} wide>
                <Loaded of={found} what={_("Comparing runs")}>{(comparison) => <Changes found={comparison} figures={figures} />}</Loaded>
            </Panel>
        </>
    );
}
