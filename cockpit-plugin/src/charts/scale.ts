// SPDX-License-Identifier: Apache-2.0
/** Positions and ticks of charts, drawn by hand: @patternfly/react-charts brings D3 and breaks the budget of 200 kB. */

/** About `wanted` round values from 0 to at least `most`: 0, 2, 4, … or 0, 5, 10, … */
export function ticks(most: number, wanted = 4): number[] {
    if (!(most > 0) || !Number.isFinite(most)) return [0];
    const rough = most / wanted;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough) ?? rough;
    const count = Math.ceil(most / step - 1e-9);
    return Array.from({ length: count + 1 }, (_one, index) => Number((index * step).toPrecision(12)));
}

/** Powers of ten around `low` … `high`, for a logarithmic scale. */
export function decades(low: number, high: number): number[] {
    if (!(low > 0) || !(high > 0)) return [];
    const from = Math.floor(Math.log10(low) + 1e-9);
    const to = Math.max(from + 1, Math.ceil(Math.log10(high) - 1e-9));
    return Array.from({ length: to - from + 1 }, (_one, index) => Number((10 ** (from + index)).toPrecision(12)));
}

/** 0 … 1 on a logarithmic scale. */
export function logPart(value: number, low: number, high: number): number {
    return (Math.log10(value) - Math.log10(low)) / (Math.log10(high) - Math.log10(low));
}
