// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";
import { decades, logPart, ticks } from "./scale";

export interface Line {
    name: string;
    tone: number;
    /** In the order of x; a null y is a gap. */
    points: readonly { x: number; y: number | null }[];
    /** Marks each point; for few points. */
    dots?: boolean;
}

const WIDTH = 640;
const HEIGHT = 240;
const LEFT = 84;
const RIGHT = 12;
const TOP = 10;
const BOTTOM = 30;

/** Lines over a linear x; y from 0, or logarithmic. Without `yText` the scale has no figures: only the shape is meant. */
export function LineChart({ label, lines, xFrom, xTo, xTicks, yText, log = false }: {
    label: string;
    lines: Line[];
    xFrom: number;
    xTo: number;
    xTicks: { at: number; text: string }[];
    yText?: ((value: number) => string) | undefined;
    log?: boolean;
}): JSX.Element {
    const values = lines.flatMap(({ points }) => points.flatMap(({ y }) => (y === null || (log && y <= 0) ? [] : [y])));
    const yTicks = log ? decades(Math.min(...values), Math.max(...values)) : ticks(Math.max(0, ...values));
    const [low = 0, high = 1] = [yTicks[0], yTicks.at(-1)];
    const x = (value: number) => LEFT + ((value - xFrom) / (xTo - xFrom || 1)) * (WIDTH - LEFT - RIGHT);
    const part = (value: number) => (log ? logPart(value, low, high) : value / (high || 1));
    const y = (value: number) => HEIGHT - BOTTOM - part(value) * (HEIGHT - TOP - BOTTOM);
    return (
        <svg className="mr-chart" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={label}>
            {yTicks.map((value) => (
                <g key={value}>
                    <line className="mr-grid-line" x1={LEFT} x2={WIDTH - RIGHT} y1={y(value)} y2={y(value)} />
                    {yText && <text className="mr-tick" x={LEFT - 8} y={y(value)} textAnchor="end" dominantBaseline="middle">{yText(value)}</text>}
                </g>
            ))}
            {xTicks.map(({ at, text }) => (
                <text key={text} className="mr-tick" x={x(at)} y={HEIGHT - 8} textAnchor={at === xFrom ? "start" : at === xTo ? "end" : "middle"}>{text}</text>
            ))}
            {lines.map(({ name, tone, points, dots }) => (
                <g key={name}>
                    <path className={`mr-line mr-tone-${tone}`} d={path(points, x, y, log)} />
                    {dots && points.map((point) => point.y !== null && (
                        <circle key={point.x} className={`mr-fill mr-tone-${tone}`} cx={x(point.x)} cy={y(point.y)} r="4" />
                    ))}
                </g>
            ))}
        </svg>
    );
}

function path(points: Line["points"], x: (value: number) => number, y: (value: number) => number, log: boolean): string {
    let pen = false;
    return points.map((point) => {
        const there = point.y !== null && (!log || point.y > 0);
        const text = there ? `${pen ? "L" : "M"}${x(point.x).toFixed(1)},${y(point.y ?? 0).toFixed(1)}` : "";
        pen = there;
        return text;
    }).join("");
}
