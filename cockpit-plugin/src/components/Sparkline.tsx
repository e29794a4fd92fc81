// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";

const WIDTH = 240;
const HEIGHT = 48;

export type Point = number | null;

/** Pieces of a line through `points`; a null is a gap. `slots` points fill the width, the newest at its end. */
export function pieces(points: readonly Point[], most: number, slots: number): { x: number; y: number }[][] {
    const step = WIDTH / Math.max(1, slots - 1);
    const first = slots - points.length;
    const all: { x: number; y: number }[][] = [];
    let piece: { x: number; y: number }[] = [];
    points.forEach((value, index) => {
        if (value === null) {
            if (piece.length) all.push(piece);
            piece = [];
        } else {
            piece.push({ x: (first + index) * step, y: HEIGHT - 2 - (most > 0 ? value / most : 0) * (HEIGHT - 6) });
        }
    });
    if (piece.length) all.push(piece);
    return all;
}

const path = (piece: { x: number; y: number }[]) => piece.map(({ x, y }, i) => `${i ? "L" : "M"}${x.toFixed(1)},${y.toFixed(1)}`).join("");

/**
 * A short time of one or two figures on one scale. `label` is its content in words for a screen reader, `top` the
 * text at the top of the scale, which is the highest value unless `scale` is given.
 */
export function Sparkline({ series, slots, label, top, scale }: {
    series: { name: string; points: readonly Point[]; tone: "read" | "write" | "neutral" }[]; slots: number; label: string; top?: string; scale?: number;
}): JSX.Element {
    const most = scale ?? Math.max(0, ...series.flatMap(({ points }) => points.map((value) => value ?? 0)));
    const drawn = (
        <svg className="mr-spark" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
            <line className="mr-spark-base" x1="0" x2={WIDTH} y1={HEIGHT - 2} y2={HEIGHT - 2} />
            {series.map(({ name, points, tone }) => pieces(points, most, slots).map((piece) => (
                <g key={`${name} ${piece[0]?.x ?? 0}`} className={`mr-spark-${tone}`}>
                    <path className="mr-spark-area" d={`${path(piece)}L${piece.at(-1)?.x.toFixed(1) ?? 0},${HEIGHT - 2}L${piece[0]?.x.toFixed(1) ?? 0},${HEIGHT - 2}Z`} />
                    <path className="mr-spark-line" d={path(piece)} />
                </g>
            )))}
        </svg>
    );
    if (top === undefined) return drawn;
    return (
        <div className="mr-spark-scaled">
            {drawn}
            <span className="mr-spark-scale mr-subtle" aria-hidden="true"><span>{top}</span><span>0</span></span>
        </div>
    );
}
