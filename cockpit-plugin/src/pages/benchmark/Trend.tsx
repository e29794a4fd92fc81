// SPDX-License-Identifier: Apache-2.0
import { useState, type JSX } from "react";
import type { Headline, BenchRunSummary } from "../../types/millrace";
import { Figure } from "../../charts/Figure";
import { LineChart } from "../../charts/LineChart";
import { ChoiceField } from "../../components/Field";
import { DataTable } from "../../components/DataTable";
import { moment } from "../../lib/format";
import { _, format } from "../../lib/i18n";
import { headlineWord, inUnit } from "./words";

interface Point { run: BenchRunSummary; headline: Headline }

/** One headline over the runs that are comparable: same workloads, to the end, without labels. Oldest first. */
export function trendOf(runs: readonly BenchRunSummary[], rung: string): Point[] {
    return [...runs].reverse().flatMap((run) => {
        const headline = run.headlines.find((one) => one.rung === rung);
        return headline !== undefined && run.state === "done" && run.labels.length === 0 ? [{ run, headline }] : [];
    });
}

/** How one figure moved from run to run; nothing is drawn through less than two of them. */
export function Trend({ runs }: { runs: BenchRunSummary[] }): JSX.Element | null {
    const names = new Map(runs.flatMap(({ headlines }) => headlines.map((one) => [one.rung, headlineWord(one)] as const)));
    const drawable = [...names].filter(([rung]) => trendOf(runs, rung).length > 1);
    const [wanted, setWanted] = useState<string>();
    const chosen = drawable.find(([rung]) => rung === wanted) ?? drawable[0];
    if (chosen === undefined) return null;
    const [rung, name] = chosen;
    const points = trendOf(runs, rung);
    const unit = points[0]?.headline.unit ?? "bytes/s";
    const text = (value: number) => inUnit(value, unit);
    const title = format(_("$0 by run"), name);
    return (
        <div className="mr-stack" data-testid="trend">
            <ChoiceField id="trend" label={_("Trend of")} value={rung} onChange={setWanted} options={drawable.map(([value, label]) => ({ value, label }))} />
            <Figure title={title} caption={_("Only completed runs on a healthy server without clients.")}
                chart={(
                    <LineChart label={`${title}: ${points.map(({ headline }) => text(headline.value)).join(", ")}`} xFrom={0} xTo={points.length - 1} yText={text}
                        lines={[{ name, tone: 0, dots: true, points: points.map(({ headline }, x) => ({ x, y: headline.value })) }]}
                        xTicks={[{ at: 0, text: moment(points[0]?.run.started) }, { at: points.length - 1, text: moment(points.at(-1)?.run.started) }]} />
                )}
                table={<DataTable label={title} rows={points} rowKey={({ run }) => run.id} columns={[
                    { title: _("Run"), heads: true, cell: ({ run }) => run.id },
                    { title: name, figures: true, cell: ({ headline }) => text(headline.value) },
                ]} />} />
        </div>
    );
}
