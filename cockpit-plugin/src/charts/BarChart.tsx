// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";
import { decades, logPart, ticks } from "./scale";

export interface Bars {
    key: string;
    /** Two lines below the bars. */
    name: string;
    below: string;
    bars: { name: string; tone: number; value: number | null; low?: number; high?: number }[];
}

const HEIGHT = 260;
const LEFT = 84;
const TOP = 10;
const BOTTOM = 50;
const BAR = 22;
const GAP = 26;

/** Groups of bars from 0, with the range over the repeats as a whisker. */
export function BarChart({ label, groups, text, log = false }: {
    label: string; groups: Bars[]; text?: ((value: number) => string) | undefined; log?: boolean;
}): JSX.Element {
    const values = groups.flatMap(({ bars }) => bars.flatMap(({ value, high }) => (value === null ? [] : [value, high ?? value])));
    const most = Math.max(0, ...values);
    // The smallest still gets a bar: a logarithmic scale has no zero.
    const marks = log ? decades(Math.min(...values.filter((value) => value > 0)) / 2, most) : ticks(most);
    const [floor = 1, top = 1] = [marks[0], marks.at(-1)];
    const part = (value: number) => (log ? Math.max(0, logPart(value, floor, top)) : value / (top || 1));
    const y = (value: number) => HEIGHT - BOTTOM - part(value) * (HEIGHT - TOP - BOTTOM);
    const starts: number[] = [];
    let at = LEFT + GAP / 2;
    for (const { bars } of groups) { starts.push(at); at += Math.max(bars.length * BAR, 64) + GAP; }
    const width = Math.max(640, at);
    return (
        <svg className="mr-chart" viewBox={`0 0 ${width} ${HEIGHT}`} role="img" aria-label={label}>
            {marks.map((value) => (
                <g key={value}>
                    <line className="mr-grid-line" x1={LEFT} x2={width} y1={y(value)} y2={y(value)} />
                    {text && <text className="mr-tick" x={LEFT - 8} y={y(value)} textAnchor="end" dominantBaseline="middle">{text(value)}</text>}
                </g>
            ))}
            {groups.map(({ key, name, below, bars }, group) => {
                const from = starts[group] ?? 0;
                return (
                    <g key={key}>
                        {bars.map(({ name: who, tone, value, low, high }, index) => {
                            const x = from + index * BAR;
                            if (value === null)
                                return <text key={who} className="mr-tick" x={x + BAR / 2} y={HEIGHT - BOTTOM - 6} textAnchor="middle">–</text>;
                            return (
                                <g key={who}>
                                    <rect className={`mr-fill mr-tone-${tone}`} x={x + 1} y={y(value)} width={BAR - 3} height={Math.max(0, HEIGHT - BOTTOM - y(value))} rx="2">
                                        <title>{text ? `${who}: ${text(value)}` : who}</title>
                                    </rect>
                                    {low !== undefined && high !== undefined && high > low && (
                                        <line className="mr-whisker" x1={x + BAR / 2 - 0.5} x2={x + BAR / 2 - 0.5} y1={y(low)} y2={y(high)} />
                                    )}
                                </g>
                            );
                        })}
                        <text className="mr-tick" x={from + (bars.length * BAR) / 2} y={HEIGHT - BOTTOM + 18} textAnchor="middle">{name}</text>
                        <text className="mr-tick" x={from + (bars.length * BAR) / 2} y={HEIGHT - BOTTOM + 34} textAnchor="middle">{below}</text>
                    </g>
                );
            })}
        </svg>
    );
}
