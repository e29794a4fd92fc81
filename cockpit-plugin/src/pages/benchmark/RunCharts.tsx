// SPDX-License-Identifier: Apache-2.0
import { useState, type JSX } from "react";
import type { Latency, Rung, BenchRun } from "../../types/millrace";
import { BarChart } from "../../charts/BarChart";
import { Figure } from "../../charts/Figure";
import { LineChart } from "../../charts/LineChart";
import { Waterfall } from "../../charts/Waterfall";
import { DataTable } from "../../components/DataTable";
import { ChoiceField } from "../../components/Field";
import { Legend } from "../../components/Tone";
import { latency, percent, UNKNOWN } from "../../lib/format";
import { _, format } from "../../lib/i18n";
import { figureText, isEmulated, ladder, relationText, rungName, rungText, shownOf, targetWord, toneOf, workloadOf, workloadWord, workloads } from "./figures";
import { bindingWord, inUnit, operationWord, profileShort } from "./words";

const PERCENTILES = ["p50", "p95", "p99", "p999"] as const;
const PERCENTILE_NAMES = ["50 %", "95 %", "99 %", "99.9 %"];

export function LadderChart({ rungs, emulated }: { rungs: Rung[]; emulated: boolean }): JSX.Element {
    const drawn = rungs.flatMap((rung) => {
        const shown = shownOf(rung);
        return shown === null ? [] : [{ rung, shown }];
    });
    const title = _("Throughput by layer, from drives to clients");
    return (
        <Figure title={title}
            caption={emulated
                ? _("Bars are relative: absolute results of an emulated server are not meaningful. Dashed: loss relative to the layer below.")
                : _("Dashed: loss relative to the layer below. Tick mark: predicted by the plan.")}
            chart={(
                <Waterfall label={`${title}. ${drawn.map(({ rung }) => `${rungName(rung)}: ${rungText(rung, emulated)}`).join("; ")}`}
                    words={{ lost: _("loss relative to the layer below"), predicted: _("predicted") }}
                    steps={drawn.map(({ rung, shown }) => ({
                        name: rungName(rung),
                        tone: toneOf(rung.target),
                        value: shown.series.median,
                        below: shown.unit === "bytes/s" || rung.ceiling.of_below === null ? rung.ceiling.below_measured : shown.series.median / rung.ceiling.of_below,
                        predicted: emulated ? null : rung.ceiling.predicted,
                        text: figureText(rung, emulated),
                        detail: relationText(rung, emulated),
                    }))} />
            )}
            table={<DataTable label={title} rows={drawn} rowKey={({ rung }) => rung.id} columns={[
                { title: _("Target"), heads: true, cell: ({ rung }) => rungName(rung) },
                { title: _("Median"), figures: true, cell: ({ shown }) => (emulated ? UNKNOWN : inUnit(shown.series.median, shown.unit)) },
                { title: _("Of the layer below"), figures: true, cell: ({ rung }) => percent(rung.ceiling.of_below) },
                { title: _("Of prediction"), figures: true, cell: ({ rung }) => percent(emulated ? null : rung.ceiling.of_predicted) },
                { title: _("Bottleneck"), cell: ({ rung }) => bindingWord(rung.binding) },
            ]} />} />
    );
}

/** Bars of all workloads that are measured in one unit, by target. */
export function Spectrum({ run, unit }: { run: BenchRun; unit: "bytes/s" | "operations/s" }): JSX.Element | null {
    const emulated = isEmulated(run.labels);
    const rungs = run.rungs.filter((rung) => shownOf(rung)?.unit === unit && (rung.layer !== "L0" || rung.target === "drives"));
    const targets = [...new Set(rungs.map(({ target }) => target))];
    const names = new Map(rungs.map((rung) => [workloadOf(rung), rung.workload]));
    if (rungs.length === 0) return null;
    const text = emulated ? undefined : (value: number) => inUnit(value, unit);
    const title = unit === "bytes/s" ? _("Bandwidth by load") : _("Operations by load");
    const of = (workload: string, target: string) => rungs.find((rung) => workloadOf(rung) === workload && rung.target === target);
    const cell = (rung: Rung | undefined) => {
        const shown = rung === undefined ? null : shownOf(rung);
        return shown === null || emulated ? UNKNOWN : inUnit(shown.series.median, unit);
    };
    return (
        <Figure title={title} caption={unit === "operations/s" ? _("Medians; error bars show the range over the repeats. Logarithmic scale.") : _("Medians; error bars show the range over the repeats.")}
            chart={(
                <>
                    <Legend label={title} entries={targets.map((target) => ({ name: targetWord(target), tone: toneOf(target) }))} />
                    <BarChart label={`${title}: ${[...names.values()].map((workload) => workloadWord({ workload })).join(", ")}`} text={text}
                        log={unit === "operations/s"}
                        groups={[...names].map(([workload, { profile, operation }]) => ({
                            key: workload,
                            name: profileShort(profile),
                            below: operationWord(operation),
                            bars: targets.map((target) => {
                                const rung = of(workload, target);
                                const shown = rung === undefined ? null : shownOf(rung);
                                return {
                                    name: targetWord(target),
                                    tone: toneOf(target),
                                    value: shown?.series.median ?? null,
                                    ...(shown && { low: shown.series.low, high: shown.series.high }),
                                };
                            }),
                        }))} />
                </>
            )}
            table={<DataTable label={title} rows={[...names]} rowKey={([workload]) => workload} columns={[
                { title: _("Load"), heads: true, cell: ([, workload]) => workloadWord({ workload }) },
                ...targets.map((target) => ({ title: targetWord(target), figures: true, cell: ([workload]: [string, Rung["workload"]]) => cell(of(workload, target)) })),
            ]} />} />
    );
}

/** How long requests take: half of them, and the slowest in a thousand, for every layer. */
export function LatencyCurve({ rungs, emulated }: { rungs: Rung[]; emulated: boolean }): JSX.Element | null {
    const found = rungs.flatMap((rung): { rung: Rung; one: Latency }[] => {
        const one = rung.latencies[0];
        return one === undefined ? [] : [{ rung, one }];
    });
    if (found.length === 0) return null;
    const title = _("Latency");
    return (
        <Figure title={title} caption={_("Latency percentiles; logarithmic scale.")}
            chart={(
                <>
                    <Legend label={title} entries={found.map(({ rung }) => ({ name: rungName(rung), tone: toneOf(rung.target) }))} />
                    <LineChart log label={`${title}: ${found.map(({ rung, one }) => `${rungName(rung)} ${emulated ? "" : latency(one.p99)}`).join(", ")}`}
                        xFrom={0} xTo={PERCENTILES.length - 1} yText={emulated ? undefined : latency}
                        xTicks={PERCENTILE_NAMES.map((text, at) => ({ at, text }))}
                        lines={found.map(({ rung, one }) => ({
                            name: rung.id,
                            tone: toneOf(rung.target),
                            dots: true,
                            points: PERCENTILES.map((name, x) => ({ x, y: one[name] })),
                        }))} />
                </>
            )}
            table={<DataTable label={title} rows={found} rowKey={({ rung }) => rung.id} columns={[
                { title: _("Target"), heads: true, cell: ({ rung }) => rungName(rung) },
                ...PERCENTILES.map((name, index) => ({
                    title: PERCENTILE_NAMES[index] ?? name,
                    figures: true,
                    cell: ({ one }: { one: Latency }) => (emulated ? UNKNOWN : latency(one[name])),
                })),
            ]} />} />
    );
}

/** One workload through all layers: the ladder, what binds each rung, and the latencies. */
export function Workload({ run }: { run: BenchRun }): JSX.Element | null {
    const all = workloads(run);
    const [wanted, setWanted] = useState<string>();
    const chosen = all.find(({ id }) => id === wanted) ?? all[0];
    if (chosen === undefined) return null;
    const rungs = ladder(run, chosen.id);
    const emulated = isEmulated(run.labels);
    return (
        <div className="mr-stack" data-testid="ladder">
            <ChoiceField id="workload" label={_("Load")} value={chosen.id} onChange={setWanted} options={all.map(({ id, name }) => ({ value: id, label: name }))} />
            <LadderChart rungs={rungs} emulated={emulated} />
            <ul className="mr-notes">
                {rungs.filter(({ diagnosis }) => diagnosis !== "").map((rung) => (
                    <li key={rung.id}><strong>{rungName(rung)}</strong>: {rung.diagnosis}</li>
                ))}
            </ul>
            <LatencyCurve rungs={rungs} emulated={emulated} />
        </div>
    );
}

export function Accelerators({ run }: { run: BenchRun }): JSX.Element | null {
    const rows = run.rungs.flatMap((rung) => rung.accelerators.map((one) => ({ rung, one })));
    if (rows.length === 0 || isEmulated(run.labels)) return null;
    return (
        <DataTable label={_("Accelerators")} rows={rows} rowKey={({ rung, one }) => `${rung.id} ${one.accelerator}`} columns={[
            { title: _("Target"), heads: true, cell: ({ rung }) => rungName(rung) },
            { title: _("Load"), cell: ({ rung }) => workloadWord(rung) },
            { title: _("Accelerator"), cell: ({ one }) => (one.retired ? format(_("$0 (retired type, to compare)"), one.accelerator) : one.accelerator) },
            { title: _("Accelerators supported"), figures: true, cell: ({ one }) => (one.au !== null && one.au < one.floor ? format(_("fewer than $0"), one.count) : one.count) },
            { title: _("Utilisation"), cell: ({ one }) => (one.au === null
                ? format(_("calculated, minimum $0"), percent(one.floor / 100))
                : format(_("$0 measured, minimum $1"), percent(one.au / 100, 1), percent(one.floor / 100))) },
        ]} />
    );
}
