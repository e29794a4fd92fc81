// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";
import { Alert } from "@patternfly/react-core/dist/esm/components/Alert/index.js";
import { Button } from "@patternfly/react-core/dist/esm/components/Button/index.js";
import type { Run } from "../../types/millrace";
import { DataTable } from "../../components/DataTable";
import { PageHeader } from "../../components/PageHeader";
import { Panel } from "../../components/Panel";
import { Empty, Loaded } from "../../components/States";
import { percent, UNKNOWN } from "../../lib/format";
import { useVerb } from "../../lib/hooks";
import { _, format } from "../../lib/i18n";
import { go } from "../../lib/route";
import { comparable, pairs } from "./compare";
import { isEmulated, rungName, workloadWord } from "./figures";
import { Labels } from "./HistoryPanel";
import { inUnit } from "./words";

function Pairs({ first, second }: { first: Run; second: Run }): JSX.Element {
    if (!comparable(first, second))
        return <Empty title={_("These two cannot be compared")}>{_("One was made on an emulated server, the other was not.")}</Empty>;
    const found = pairs(first, second);
    if (found.length === 0)
        return <Empty title={_("These two have no load in common")}>{_("Only loads with the same definition are put side by side.")}</Empty>;
    const emulated = isEmulated(first.labels);
    return (
        <div className="mr-stack">
            {[first, second].filter(({ labels }) => labels.length > 0).map(({ id, labels }) => (
                <Alert key={id} isInline variant="warning" title={format(_("Mind how run $0 was made"), id)}><Labels labels={labels} /></Alert>
            ))}
            <DataTable label={_("Both runs")} testId="compared" rows={found} rowKey={({ rung }) => rung.id} columns={[
                { title: _("Where"), heads: true, sort: ({ rung }) => rungName(rung), cell: ({ rung }) => rungName(rung) },
                { title: _("Load"), sort: ({ rung }) => workloadWord(rung), cell: ({ rung }) => workloadWord(rung) },
                { title: first.id, figures: true, cell: ({ first: { series, unit } }) => (emulated ? UNKNOWN : inUnit(series.median, unit)) },
                { title: second.id, figures: true, cell: ({ second: { series, unit } }) => (emulated ? UNKNOWN : inUnit(series.median, unit)) },
                { title: _("Second of first"), figures: true, sort: ({ ratio }) => ratio, cell: ({ ratio }) => percent(ratio, 1) },
                { title: _("Repeats"), cell: ({ overlap }) => (overlap ? _("overlap: the difference may be chance") : _("apart")) },
            ]} />
        </div>
    );
}

/** Two runs side by side, load by load. */
export function CompareView({ ids: [one, other] }: { ids: [string, string] }): JSX.Element {
    const first = useVerb("bench show", [one]);
    const second = useVerb("bench show", [other]);
    return (
        <>
            <PageHeader title={format(_("$0 and $1"), one, other)} actions={<Button variant="secondary" onClick={() => go(["benchmark"])}>{_("All runs")}</Button>} />
            <Panel title={_("Both runs")} wide>
                <Loaded of={first} what={_("Reading the run")}>
                    {(a) => <Loaded of={second} what={_("Reading the run")}>{(b) => <Pairs first={a} second={b} />}</Loaded>}
                </Loaded>
            </Panel>
        </>
    );
}
