// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";
import type { HistoryReport, HistorySeries } from "../types/millrace";
import { DataTable } from "../components/DataTable";
import { Legend } from "../components/Tone";
import { timeTicks, valueWord } from "../lib/history";
import { _, format } from "../lib/i18n";
import { Figure } from "./Figure";
import { LineChart } from "./LineChart";

export interface HistoryLine { name: string; series: HistorySeries }

/** Tones of charts.css. */
const TONES = 7;
const tone = (index: number) => index % TONES;

/** Series of one unit over one span, with their scale, and as a table. */
export function HistoryChart({ title, report, lines }: { title: string; report: HistoryReport; lines: HistoryLine[] }): JSX.Element | null {
    const unit = lines[0]?.series.unit;
    if (unit === undefined) return null;
    const label = lines.map(({ name, series }) => format(_("$0: $1 now, $2 mean, $3 peak"), name,
        ...[series.last, series.mean, series.peak].map((value) => valueWord(value, unit)))).join("; ");
    return (
        <Figure title={title}
            chart={(
                <>
                    <LineChart label={label} xFrom={report.since} xTo={report.at} xTicks={timeTicks(report)} yText={(value) => valueWord(value, unit)}
                        lines={lines.map(({ name, series }, index) => ({
                            name,
                            tone: tone(index),
                            points: series.points.map((y, number) => ({ x: report.since + number * report.step, y })),
                        }))} />
                    <Legend label={format(_("Legend of $0"), title)} entries={lines.map(({ name }, index) => ({ name, tone: tone(index) }))} />
                </>
            )}
            table={(
                <DataTable label={title} rows={lines} rowKey={({ name }) => name} columns={[
                    { title: _("Series"), cell: ({ name }) => name, heads: true },
                    { title: _("Now"), cell: ({ series }) => valueWord(series.last, unit), figures: true },
                    { title: _("Mean"), cell: ({ series }) => valueWord(series.mean, unit), figures: true },
                    { title: _("Peak"), cell: ({ series }) => valueWord(series.peak, unit), figures: true },
                ]} />
            )} />
    );
}
