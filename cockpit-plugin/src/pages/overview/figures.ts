// SPDX-License-Identifier: Apache-2.0
import type { Point } from "../../components/Sparkline";
import type { HistorySeries } from "../../types/millrace";

export interface Recent { points: readonly Point[]; now: Point; most: Point }

/** The last hour by the minute; the live figure, where there is one, is what it is now. */
export function newest(series: HistorySeries | undefined, live: number | null | undefined): Recent {
    const points = series?.points ?? [];
    const known = [...points, live ?? null].filter((value): value is number => value !== null);
    return { points, now: live === undefined ? series?.last ?? null : live, most: known.length > 0 ? Math.max(...known) : null };
}
