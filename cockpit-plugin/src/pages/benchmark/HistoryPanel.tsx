// SPDX-License-Identifier: Apache-2.0
import { useState, type JSX } from "react";
import { Alert } from "@patternfly/react-core/dist/esm/components/Alert/index.js";
import { Button } from "@patternfly/react-core/dist/esm/components/Button/index.js";
import { Checkbox } from "@patternfly/react-core/dist/esm/components/Checkbox/index.js";
import { Label } from "@patternfly/react-core/dist/esm/components/Label/index.js";
import type { Outputs } from "../../types/outputs";
import type { BenchRunSummary } from "../../types/millrace";
import { DataTable, type Column } from "../../components/DataTable";
import { Panel } from "../../components/Panel";
import { Empty, Loaded } from "../../components/States";
import { moment } from "../../lib/format";
import type { Result } from "../../lib/hooks";
import { _, format, ngettext } from "../../lib/i18n";
import { go, link } from "../../lib/route";
import { Trend } from "./Trend";
import { StateLabel } from "./StateLabel";
import { headlineWord, inUnit, labelWord } from "./words";

/** Best figures of a run that are seen without asking for more. */
const SEEN = 3;

function Headlines({ run: { headlines } }: { run: BenchRunSummary }): JSX.Element {
    const list = (some: BenchRunSummary["headlines"]) => (
        <ul className="mr-plain-list">
            {some.map((one) => <li key={one.rung}>{headlineWord(one)} <strong>{inUnit(one.value, one.unit)}</strong></li>)}
        </ul>
    );
    const more = headlines.slice(SEEN);
    return (
        <>
            {list(headlines.slice(0, SEEN))}
            {more.length > 0 && <details className="mr-details"><summary>{format(ngettext("$0 more", "$0 more", more.length), more.length)}</summary>{list(more)}</details>}
        </>
    );
}

export function Labels({ labels }: { labels: BenchRunSummary["labels"] }): JSX.Element {
    return <>{labels.map((label) => <Label key={label} color="orange" isCompact variant="outline">{labelWord(label)}</Label>)}</>;
}

function columns(chosen: string[], choose: (id: string, on: boolean) => void): Column<BenchRunSummary>[] {
    return [
        {
            title: _("Compare"),
            cell: ({ id }) => (
                <Checkbox id={`compare-${id}`} aria-label={format(_("Compare $0"), id)} isChecked={chosen.includes(id)}
                    onChange={(_event, on) => choose(id, on)} />
            ),
        },
        { title: _("Run"), heads: true, sort: ({ id }) => id, cell: ({ id }) => <a href={link("benchmark", "run", id)}>{id}</a> },
        { title: _("Started"), sort: ({ started }) => started, cell: ({ started }) => moment(started) },
        {
            title: _("State"),
            cell: ({ state, done, rungs, reason, labels }) => (
                <>
                    <StateLabel state={state} />{" "}
                    <Labels labels={labels} />
                    <div className="mr-small mr-subtle">{format(_("$0 of $1 loads"), done, rungs)}</div>
                    {reason !== null && <div className="mr-small">{reason}</div>}
                </>
            ),
        },
        { title: _("Best results"), cell: (run) => <Headlines run={run} /> },
    ];
}

/** Runs of the past, the trend over them, and the way to two of them side by side. */
export function HistoryPanel({ of }: { of: Result<Outputs["bench list"]> }): JSX.Element {
    const [chosen, setChosen] = useState<string[]>([]);
    // The two that were ticked last.
    const choose = (id: string, on: boolean) => setChosen((before) => (on ? [...before, id].slice(-2) : before.filter((one) => one !== id)));
    return (
        <Panel title={_("History")} wide testId="history" actions={(
            <Button variant="secondary" size="sm" isDisabled={chosen.length !== 2}
                onClick={() => go(["benchmark", "compare", ...[...chosen].sort()])}>{_("Compare selected runs")}</Button>
        )}>
            <Loaded of={of} what={_("Loading history")}>
                {({ runs, broken }) => (
                    <div className="mr-stack">
                        {broken.map((name) => <Alert key={name} variant="warning" isInline isPlain title={format(_("Cannot read run $0."), name)} />)}
                        {runs.length > 0
                            ? (
                                <>
                                    <Trend runs={runs} />
                                    <DataTable label={_("History")} columns={columns(chosen, choose)} rows={runs} rowKey={({ id }) => id} />
                                </>
                            )
                            : <Empty title={_("No runs yet")}>{_("A run shows how much performance is lost in each layer of this server.")}</Empty>}
                    </div>
                )}
            </Loaded>
        </Panel>
    );
}
