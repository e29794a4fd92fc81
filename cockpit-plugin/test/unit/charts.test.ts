// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { decades, logPart, ticks } from "../../src/charts/scale";

test("ticks are round, begin at 0 and reach the largest value", () => {
    expect(ticks(72e9)).toEqual([0, 20e9, 40e9, 60e9, 80e9]);
    expect(ticks(0.3)).toEqual([0, 0.1, 0.2, 0.3]);
    expect(ticks(5)).toEqual([0, 2, 4, 6]);
    for (const most of [0, -1, NaN, Infinity]) expect(ticks(most)).toEqual([0]);
});

test("a logarithmic scale has whole decades, and at least one", () => {
    expect(decades(4e-4, 0.09)).toEqual([1e-4, 1e-3, 1e-2, 0.1]);
    expect(decades(10, 10)).toEqual([10, 100]);
    expect(decades(0, 5)).toEqual([]);
    expect(logPart(100, 10, 1000)).toBeCloseTo(0.5);
});
