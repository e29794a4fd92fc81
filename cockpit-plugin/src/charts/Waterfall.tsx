// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";

export interface Step {
    name: string;
    tone: number;
    value: number;
    /** What the layer below reached. */
    below: number | null;
    /** What the plan predicted. */
    predicted: number | null;
    /** Beside the bar: the figure, and what it is part of. */
    text: string;
    detail: string;
}

const WIDTH = 1040;
const NAME = 170;
const BAR = 360;
/** Characters of a name that fit; the whole of it is its tooltip. */
const NAME_LENGTH = 17;
const ROW = 50;
const THICK = 28;

/** From the drives to the clients: what each layer delivers, what it loses of the layer below, and what was predicted. */
export function Waterfall({ label, steps, words }: {
    label: string; steps: Step[]; words: { lost: string; predicted: string };
}): JSX.Element {
    const most = Math.max(0, ...steps.flatMap(({ value, below, predicted }) => [value, below ?? 0, predicted ?? 0])) || 1;
    const x = (value: number) => NAME + (value / most) * BAR;
    return (
        <svg className="mr-chart mr-waterfall" viewBox={`0 0 ${WIDTH} ${steps.length * ROW + 8}`} role="img" aria-label={label}>
            {steps.map(({ name, tone, value, below, predicted, text, detail }, row) => {
                const top = row * ROW + 8;
                return (
                    <g key={name}>
                        <text className="mr-step-name" x={NAME - 10} y={top + THICK / 2} textAnchor="end" dominantBaseline="middle">
                            {name.length > NAME_LENGTH ? `${name.slice(0, NAME_LENGTH - 1)}…` : name}
                            <title>{name}</title>
                        </text>
                        <rect className={`mr-fill mr-tone-${tone}`} x={NAME} y={top} width={Math.max(1, x(value) - NAME)} height={THICK} rx="3" />
                        {below !== null && below > value && (
                            <rect className="mr-lost" x={x(value)} y={top} width={x(below) - x(value)} height={THICK} rx="3"><title>{words.lost}</title></rect>
                        )}
                        {predicted !== null && (
                            <line className="mr-predicted" x1={x(predicted)} x2={x(predicted)} y1={top - 4} y2={top + THICK + 4}><title>{words.predicted}</title></line>
                        )}
                        <text className="mr-step-text" x={NAME + BAR + 14} y={top + 10} dominantBaseline="middle">{text}</text>
                        <text className="mr-tick" x={NAME + BAR + 14} y={text === "" ? top + THICK / 2 : top + 28} dominantBaseline="middle">{detail}</text>
                    </g>
                );
            })}
        </svg>
    );
}
