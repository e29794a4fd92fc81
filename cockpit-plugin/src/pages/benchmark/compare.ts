// SPDX-License-Identifier: Apache-2.0
/** Rungs of two runs, side by side where they are the same load. */
import type { Rung, Run } from "../../types/millrace";
import { isEmulated, shownOf, type Shown } from "./figures";

export interface Pair {
    rung: Rung;
    first: Shown;
    second: Shown;
    /** The second median as a part of the first. */
    ratio: number;
    /** The repeats of one lie within those of the other or across their end: the difference may be chance. */
    overlap: boolean;
}

/** Pairs in the order of the first run; a load whose definition differs is left out, as its figures are of something else. */
export function pairs(first: Run, second: Run): Pair[] {
    const there = new Map(second.rungs.map((rung) => [rung.id, rung]));
    return first.rungs.flatMap((rung) => {
        const other = there.get(rung.id);
        if (other === undefined || other.workload.sha256 !== rung.workload.sha256) return [];
        const [a, b] = [shownOf(rung), shownOf(other)];
        if (a === null || b === null || a.unit !== b.unit || a.series.median <= 0) return [];
        return [{
            rung,
            first: a,
            second: b,
            ratio: b.series.median / a.series.median,
            overlap: a.series.low <= b.series.high && b.series.low <= a.series.high,
        }];
    });
}

/** An emulated server and a real one have nothing in common. */
export const comparable = (first: Run, second: Run): boolean => isEmulated(first.labels) === isEmulated(second.labels);
