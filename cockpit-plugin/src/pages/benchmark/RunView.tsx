// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";
import { Alert } from "@patternfly/react-core/dist/esm/components/Alert/index.js";
import { Button } from "@patternfly/react-core/dist/esm/components/Button/index.js";
import type { Rung, BenchRun } from "../../types/millrace";
import { DataTable } from "../../components/DataTable";
import { HealthLabel } from "../../components/Health";
import { PageHeader } from "../../components/PageHeader";
import { Panel } from "../../components/Panel";
import { Loaded } from "../../components/States";
import { binary, latency, moment, percent, UNKNOWN } from "../../lib/format";
import { useVerb } from "../../lib/hooks";
import { _, format } from "../../lib/i18n";
import { go } from "../../lib/route";
import { Exports } from "./Exports";
import { isEmulated, rungName, shownOf, workloadWord } from "./figures";
import { Labels } from "./HistoryPanel";
import { Accelerators, Spectrum, Workload } from "./RunCharts";
import { StateLabel } from "./StateLabel";
import { flagWord, inUnit, stateLevel, stateWord } from "./words";

function Results({ run }: { run: BenchRun }): JSX.Element {
    const emulated = isEmulated(run.labels);
    const figure = (rung: Rung) => {
        const shown = shownOf(rung);
        return shown === null || emulated ? UNKNOWN : inUnit(shown.series.median, shown.unit);
    };
    const range = (rung: Rung) => {
        const shown = shownOf(rung);
        if (shown === null) return UNKNOWN;
        const { low, high, spread } = shown.series;
        return emulated ? `±${percent(spread)}` : format(_("$0 to $1"), inUnit(low, shown.unit), inUnit(high, shown.unit));
    };
    return (
        <DataTable label={_("All results")} rows={run.rungs} rowKey={({ id }) => id} columns={[
            { title: _("Target"), heads: true, sort: rungName, cell: rungName },
            { title: _("Load"), sort: workloadWord, cell: workloadWord },
            { title: _("Median"), figures: true, cell: figure },
            { title: _("Range"), figures: true, cell: range },
            { title: _("99th percentile"), figures: true, cell: ({ latencies }) => latency(emulated ? null : latencies[0]?.p99) },
            {
                title: _("State"),
                cell: ({ state, reason, flags }) => (
                    <>
                        <StateLabel state={state} />
                        {[...(reason === null ? [] : [reason]), ...flags.map(flagWord)].map((line) => <div key={line} className="mr-small">{line}</div>)}
                    </>
                ),
            },
        ]} />
    );
}

function Environment({ run: { environment, provenance, request } }: { run: BenchRun }): JSX.Element {
    return (
        <div className="mr-stack">
            <dl className="mr-definitions">
                <dt>{_("Server")}</dt><dd>{`${environment.host}, ${environment.product}`}</dd>
                <dt>{_("CPU")}</dt><dd>{`${environment.cpu}, ${environment.sockets} × ${environment.cores}`}</dd>
                <dt>{_("Memory")}</dt><dd>{binary(environment.memory)}</dd>
                <dt>{_("Kernel")}</dt><dd>{environment.kernel}</dd>
                <dt>{_("Virtual")}</dt><dd>{environment.virtual ?? _("no")}</dd>
                <dt>{_("Pool")}</dt><dd>{environment.pool}</dd>
                <dt>{_("Benchmark profile")}</dt><dd>{request.mode}</dd>
                <dt>{_("Started by")}</dt><dd>{provenance.started_by}</dd>
                <dt>{_("Software")}</dt><dd>{`${provenance.tool} ${provenance.version}, ${provenance.fio}`}</dd>
                <dt>{_("Loads")}</dt><dd><code>{provenance.workload_hash.slice(0, 16)}</code></dd>
            </dl>
            <p className="mr-subtle">{provenance.statement}</p>
        </div>
    );
}

function Shown({ run }: { run: BenchRun }): JSX.Element {
    return (
        <>
            <div className="mr-actions">
                <HealthLabel level={stateLevel(run.state)}>{stateWord(run.state)}</HealthLabel>
                <Labels labels={run.labels} />
                <span className="mr-subtle">{moment(run.started)}</span>
            </div>
            {run.reason !== null && <Alert variant="warning" isInline title={run.reason} />}
            {isEmulated(run.labels) && (
                <Alert variant="info" isInline data-testid="emulated"
                    title={_("Emulated server: only ratios are meaningful, so no bandwidth is shown.")} />
            )}
            <div className="mr-pair">
                <Panel title={_("Layers")} wide testId="run-ladder"><Workload run={run} /></Panel>
                <Panel title={_("Bandwidth and operations")} wide testId="run-spectrum">
                    <div className="mr-stack"><Spectrum run={run} unit="bytes/s" /><Spectrum run={run} unit="operations/s" /></div>
                </Panel>
                {run.rungs.some(({ accelerators }) => accelerators.length > 0) && (
                    <Panel title={_("Accelerators")} wide><Accelerators run={run} /></Panel>
                )}
                <Panel title={_("All results")} wide testId="run-results"><Results run={run} /></Panel>
                <Panel title={_("Report")} testId="run-export"><Exports run={run.id} /></Panel>
                <Panel title={_("Test environment")} testId="run-environment"><Environment run={run} /></Panel>
            </div>
        </>
    );
}

/** One run: the ladder as a waterfall, spectrum, latencies, everything that was measured and where. */
export function RunView({ id }: { id: string }): JSX.Element {
    const run = useVerb("bench show", [id]);
    return (
        <>
            <PageHeader title={format(_("Run $0"), id)}
                actions={<Button variant="secondary" onClick={() => go(["benchmark"])}>{_("All runs")}</Button>} />
            <Loaded of={run} what={_("Loading run")}>{(found) => <Shown run={found} />}</Loaded>
        </>
    );
}
